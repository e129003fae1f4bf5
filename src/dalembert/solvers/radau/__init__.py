"""The Radau family: one stage solver (`core`), one record of state, several linear algebras."""
