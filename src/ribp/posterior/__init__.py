"""Reading draws: what the posterior says of rows, features and data."""
