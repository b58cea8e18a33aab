"""Does a slip in the source make a test fail? Small slips, drawn from the syntax tree, each tried against the tests."""
