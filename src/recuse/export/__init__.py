"""What an audit found becomes something to train and test with: adversarial sets and preferences."""
