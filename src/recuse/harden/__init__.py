"""`recuse harden`: does a changed judge do better? Variants on the same held-out pairs and arms, compared in pairs."""
