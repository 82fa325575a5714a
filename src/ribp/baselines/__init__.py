"""The unrestricted Indian buffet: what the restricted one is compared with."""
