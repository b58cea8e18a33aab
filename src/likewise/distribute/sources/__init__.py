"""What is read: files and their rows, the types of their columns, and whether their ids are distinct."""
