"""Who may do what: the one decision, the view of a request that it is made from, and its words."""
