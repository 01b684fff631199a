//! The kinds of damage, in words: what each means for answers, and what mends it.

/// A kind of damage that [`Store::check`](crate::Store::check) finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// Pages of the file, or rows of several tables, contradict each other.
    File,
    /// A table, index, view or trigger is not one that ragdb makes.
    Schema,
    /// A setting is missing, foreign or wrong.
    Settings,
    /// The index was made by another version of the lexer.
    Lexer,
    /// A document's row, chunks or findings do not have their hashes.
    Documents,
    /// What is derived from the chunks does not fit them.
    Index,
    /// The rules of access are not what they come from.
    Access,
    /// Vectors are not of the chunks that they stand beside.
    Vectors,
    /// Generations, tombstones, failures, purges or epochs do not fit each other.
    History,
    /// Rows have their hashes and are not what a fresh build makes of the same files.
    Forged,
}

impl Damage {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::File,
        Self::Schema,
        Self::Settings,
        Self::Lexer,
        Self::Documents,
        Self::Index,
        Self::Access,
        Self::Vectors,
        Self::History,
        Self::Forged,
    ];

    /// A stable, lower-case name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Schema => "schema",
            Self::Settings => "settings",
            Self::Lexer => "lexer",
            Self::Documents => "documents",
            Self::Index => "index",
            Self::Access => "access",
            Self::Vectors => "vectors",
            Self::History => "history",
            Self::Forged => "forged",
        }
    }

    /// What is damaged, and which answers can be wrong for it.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::File => "the file contradicts itself: any answer can be wrong or fail",
            Self::Schema => "the schema is not the one that ragdb makes: any answer can be wrong or fail",
            Self::Settings => "a setting was changed: searches can be wrong or refused",
            Self::Lexer => "another version of ragdb made the index: searches are refused",
            Self::Documents => "rows of a document were changed: what is found and shown of it can be wrong",
            Self::Index => "the index was changed: searches can miss hits, or rank them wrongly",
            Self::Access => "a rule of access was changed: somebody may read too much or too little",
            Self::Vectors => "vectors were changed: a search by meaning can miss hits, or rank them wrongly",
            Self::History => {
                "the history was changed: log, diff, show, rollback and what is said of deleted text can be wrong; \
                 searches are right"
            }
            Self::Forged => "rows were changed together with their hashes: what is found and shown can be wrong",
        }
    }

    /// The command that mends it.
    #[must_use]
    pub fn mend(self) -> &'static str {
        match self {
            Self::Lexer => "run `ragdb sync`, which rebuilds the index",
            Self::Documents => "run `ragdb sync --checksum`, which makes the rows again from the source files",
            Self::Index | Self::Access => "run `ragdb optimize --rebuild`, which makes it again from the stored rows",
            Self::Vectors => "run `ragdb embed --anew`, which makes them again",
            Self::File | Self::Schema | Self::Settings => {
                "restore a backup, or make a new store with `ragdb --db NEW sync` (and its folders, where no ragdb.yaml \
                 declares them)"
            }
            Self::History => {
                "restore a backup; a new store (`ragdb --db NEW sync`, and its folders, where no ragdb.yaml declares them) \
                 begins a new history"
            }
            Self::Forged => {
                "make a new store with `ragdb --db NEW sync` (and its folders, where no ragdb.yaml declares them)"
            }
        }
    }
}
