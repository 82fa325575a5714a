"""What vaguer, wrong or unknown counts do to the features that are found."""
