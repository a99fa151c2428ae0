"""Importing the servers of clients: which are the same, what they are called, and which toolbox each goes to.

`plan` makes the whole change without writing anything. The other modules are its steps.
"""
