"""Models that users would try first, where no library has them as a study needs them."""
