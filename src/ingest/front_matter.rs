//! Front matter: the metadata block at the very start of a file, as YAML (`---`) or TOML (`+++`).
