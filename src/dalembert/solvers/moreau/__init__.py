"""Time stepping with contacts, of Moreau and Jean: steps of fixed size in which impulses take the place of forces."""
