"""The Radau family: one kernel (`core`), one record of state, several linear algebras."""
