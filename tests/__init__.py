"""The tests, in the rooms of the source; what several of them share is in `helpers`."""
