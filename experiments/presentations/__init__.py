"""The same table as different people would bring it."""
