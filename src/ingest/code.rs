//! The stable codes of what can be wrong with an input file or folder, each with its meaning. The command-line
//! reference is made from this table.

macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal;)*) => {
        $(pub(crate) const $name: &str = $code;)*

        /// Every code that a [`Failure`](crate::Failure) of the walk and of reading can carry, with its meaning.
        pub const FAILURE_CODES: &[(&str, &str)] = &[$(($code, $meaning)),*];
    };
}

codes! {
    SYMLINK = "symlink": "the file, or a folder above it, is a symbolic link; links are never followed";
    SYMLINK_FOLDER = "symlink_folder": "the folder is a symbolic link; links are never followed";
    NOT_REGULAR = "not_regular": "the name is that of a document, but it is a pipe, a socket or a device";
    NAME_NOT_UTF8 = "name_not_utf8": "the path is not UTF-8";
    NAME_CONTROL_CHARACTER = "name_control_character": "the path holds a control character, such as a line break";
    NAME_COLLISION = "name_collision": "two paths differ only in letter case or Unicode composition; neither is taken";
    UNREADABLE = "unreadable": "the file can't be opened or read";
    UNREADABLE_FOLDER = "unreadable_folder": "the folder can't be listed; its documents are kept";
    TOO_LARGE = "too_large": "the file is larger than `sync.max_file_bytes`";
    NOT_UTF8 = "not_utf8": "the file is not UTF-8 text";
    NUL_BYTE = "nul_byte": "the file holds a NUL byte, so it is not text";
    EMPTY = "empty": "the file has no text, or none after its front matter";
    MISSING_METADATA = "missing_metadata": "the front matter lacks a field that the source requires";
    FRONT_MATTER_UNCLOSED = "front_matter_unclosed": "the front matter begins and never ends";
    FRONT_MATTER_INVALID = "front_matter_invalid": "the front matter is not YAML, or not TOML, or not a mapping";
    ACCESS_INVALID = "access_invalid": "the front matter says who may read it in words that are no rule, or names another tenant";
    CHANGED_WHILE_READING = "changed_while_reading": "the file changed each time it was read";
    VANISHED = "vanished": "the file or folder was listed and then was gone";
    OUTSIDE_ROOT = "outside_root": "the path is absolute, holds `..`, or leads out of its source's folder";
    STORE_FILE = "store_file": "the file is the store itself, under another name";
}
