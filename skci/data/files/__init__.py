"""Files of named columns, which are read some rows at a time."""
