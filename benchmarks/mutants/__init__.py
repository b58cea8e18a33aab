"""Mutation testing: does a small slip in the source make a test fail?"""
