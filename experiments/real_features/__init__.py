"""Which features are found in real data whose features are known, beside scikit-learn."""
