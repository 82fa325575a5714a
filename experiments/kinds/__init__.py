"""Columns of any kind: are features found that made a table, and are hidden entries foretold?"""
