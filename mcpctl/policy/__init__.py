"""The one decision on who may do what, the view of a request that it is made from, and its words."""
