//! Which sources a sync reads: those of the request, joined with what the store knows of them.

use std::path::{Component, Path, PathBuf};

use super::{SyncRequest, SyncSources};
use crate::config::{DeclaredBy, Reviewed, SourceConfig, SyncSettings};
use crate::error::{Error, Result};
use crate::model::{SourceKind, Trust, Visibility};
use crate::store::sources::SourceRow;

/// A source as the request declares it and as the store has it.
pub(super) struct Declared {
    pub config: SourceConfig,
    /// The number it has in the store.
    pub source_no: Option<i64>,
    /// The row that the store should have.
    pub row: SourceRow,
    /// Whether the store has another row, or none.
    pub changed: bool,
    /// Which documents the store has as reviewed.
    pub reviewed_before: Option<Reviewed>,
    /// Whether the declaration changed in a way that every document must be looked at again.
    pub reparse: bool,
}

/// What a sync is about.
pub(super) struct Resolved {
    /// The sources to read, by id.
    pub read: Vec<Declared>,
    /// Stored sources that the configuration no longer declares: all their documents go.
    pub removed: Vec<(i64, SourceRow)>,
    pub settings: SyncSettings,
}

/// Joins the request with the stored sources. With `all`, stored sources that the request does not speak of are
/// read as well, from where they were found last.
pub(super) fn resolve(
    store: &Path,
    request: &SyncRequest,
    stored: Vec<(i64, SourceRow)>,
    all: bool,
) -> Result<Resolved> {
    let folder = store.parent().unwrap_or(Path::new("/"));
    let (declared, settings) = match &request.sources {
        SyncSources::Registered => (Vec::new(), SyncSettings::default()),
        SyncSources::Folders(folders) => {
            let configs = folders.iter().map(SourceConfig::for_folder).collect::<Result<_>>()?;
            (configs, SyncSettings::default())
        }
        SyncSources::Config(config) => (config.sources.clone(), config.sync),
    };
    refuse_equal_ids(&declared)?;
    let mut read = Vec::new();
    for config in declared {
        let known = stored.iter().find(|(_, row)| row.source_id == config.id);
        let row = row_for(folder, &config, &settings)?;
        if let Some((_, known)) = known {
            refuse_declared_elsewhere(known, &config)?;
            check_root(known, &row, request.reroot)?;
        }
        read.push(declare(config, row, known)?);
    }
    let mut removed = Vec::new();
    for (source_no, row) in stored {
        if read.iter().any(|source| source.config.id == row.source_id) {
            continue;
        }
        match (&request.sources, row.declared_by.as_str()) {
            (SyncSources::Config(_), "config") => removed.push((source_no, row)),
            (SyncSources::Folders(_), _) if !all => {}
            _ => {
                let config = config_for(folder, &row)?;
                let known = (source_no, row.clone());
                read.push(declare(config, row, Some(&known))?);
            }
        }
    }
    if read.is_empty() && removed.is_empty() {
        return Err(Error::Refused {
            code: "no_sources",
            message: "there is no source to read".into(),
            hint: "name a folder (`ragdb sync DIR`), or declare sources in ragdb.yaml (`ragdb init`)".into(),
        });
    }
    read.sort_by(|a, b| a.config.id.cmp(&b.config.id));
    Ok(Resolved { read, removed, settings })
}

fn declare(config: SourceConfig, row: SourceRow, known: Option<&(i64, SourceRow)>) -> Result<Declared> {
    let changed = known.is_none_or(|(_, known)| *known != row);
    let reparse = known.is_some_and(|(_, known)| {
        let trust = |row: &SourceRow| (row.trust.clone(), row.reviewed.clone());
        known.kind != row.kind
            || known.tenant != row.tenant
            || known.required_metadata != row.required_metadata
            || trust(known) != trust(&row)
    });
    let reviewed_before = known.map(|(_, known)| reviewed_of(known)).transpose()?;
    Ok(Declared { config, source_no: known.map(|(number, _)| *number), row, changed, reviewed_before, reparse })
}

/// Which documents of a stored source are reviewed.
pub(crate) fn reviewed_of(row: &SourceRow) -> Result<Reviewed> {
    let unknown = || Error::Damaged { detail: format!("source {}: trust is {:?}", row.source_id, row.trust) };
    let trust = Trust::named(&row.trust).ok_or_else(unknown)?;
    Reviewed::new(&row.source_id, trust, &row.list(&row.reviewed)?)
}

/// Two folders of one name would be one source, and the second would delete the first one's documents.
fn refuse_equal_ids(sources: &[SourceConfig]) -> Result<()> {
    for (index, source) in sources.iter().enumerate() {
        if let Some(other) = sources[..index].iter().find(|other| other.id == source.id) {
            return Err(Error::Refused {
                code: "source_id_taken",
                message: format!(
                    "{} and {} would both be the source {:?}",
                    other.root().display(),
                    source.root().display(),
                    source.id
                ),
                hint: "declare them in ragdb.yaml with ids of their own".into(),
            });
        }
    }
    Ok(())
}

/// A folder on the command line has the default declaration: it would take a configured source's visibility, patterns
/// and requirements away.
fn refuse_declared_elsewhere(known: &SourceRow, wanted: &SourceConfig) -> Result<()> {
    if wanted.declared_by == DeclaredBy::Config || known.declared_by == DeclaredBy::Argument.as_str() {
        return Ok(());
    }
    Err(Error::Refused {
        code: "source_declared_elsewhere",
        message: format!(
            "the folder {} would be the source {}, which a ragdb.yaml declares; nothing was changed",
            wanted.base.display(),
            known.source_id
        ),
        hint: "run `ragdb sync` without a folder, with that ragdb.yaml (--config), or give the folder another name"
            .into(),
    })
}

/// A source keeps its root: the same id on another folder would turn every citation into one of other files.
fn check_root(known: &SourceRow, wanted: &SourceRow, reroot: bool) -> Result<()> {
    if known.root == wanted.root || reroot {
        return Ok(());
    }
    Err(Error::Refused {
        code: "root_changed",
        message: format!("source {} was indexed from {} and now is {}", known.source_id, known.root, wanted.root),
        hint: "give the new folder a source id of its own, or accept the move with --reroot".into(),
    })
}

fn row_for(folder: &Path, config: &SourceConfig, settings: &SyncSettings) -> Result<SourceRow> {
    let json = |list: &[String]| serde_json::Value::from(list).to_string();
    let root = config.root();
    // The folder that it starts from may be reached through links, also when the root itself is missing.
    let from_base = || config.base.canonicalize().map(|base| base.join(&config.path));
    let root = root.canonicalize().or_else(|_| from_base()).unwrap_or(root);
    let folder = folder.canonicalize().map_err(|error| Error::io(folder, error))?;
    let root = relative(&folder, &root);
    let Some(root) = root.to_str() else {
        return Err(Error::Invalid {
            message: format!("the path of source {} is not UTF-8: {}", config.id, root.display()),
        });
    };
    Ok(SourceRow {
        source_id: config.id.clone(),
        kind: config.kind.as_str().into(),
        root: root.into(),
        declared_by: config.declared_by.as_str().into(),
        scope: config.scope.clone(),
        visibility: config.visibility.as_str().into(),
        tenant: config.tenant.clone(),
        groups: json(&config.groups),
        include: json(&config.include),
        exclude: json(&config.exclude),
        required_metadata: json(&config.required_metadata),
        hidden: config.hidden,
        respect_gitignore: config.respect_gitignore.unwrap_or(settings.respect_gitignore),
        max_file_bytes: config.max_file_bytes.unwrap_or(settings.max_file_bytes),
        trust: config.trust.as_str().into(),
        reviewed: json(&config.reviewed),
    })
}

/// The declaration that a stored row came from.
pub(crate) fn config_for(folder: &Path, row: &SourceRow) -> Result<SourceConfig> {
    let unknown =
        |what: &str, value: &str| Error::Damaged { detail: format!("source {}: {what} is {value:?}", row.source_id) };
    Ok(SourceConfig {
        id: row.source_id.clone(),
        kind: match row.kind.as_str() {
            "markdown" => SourceKind::Markdown,
            "text" => SourceKind::Text,
            other => return Err(unknown("kind", other)),
        },
        base: stored_root(folder, row)?,
        path: ".".into(),
        declared_by: match row.declared_by.as_str() {
            "config" => DeclaredBy::Config,
            "argument" => DeclaredBy::Argument,
            other => return Err(unknown("declared_by", other)),
        },
        scope: row.scope.clone(),
        visibility: match row.visibility.as_str() {
            "public" => Visibility::Public,
            "internal" => Visibility::Internal,
            "private" => Visibility::Private,
            other => return Err(unknown("visibility", other)),
        },
        tenant: row.tenant.clone(),
        groups: row.list(&row.groups)?,
        include: row.list(&row.include)?,
        exclude: row.list(&row.exclude)?,
        required_metadata: row.list(&row.required_metadata)?,
        hidden: row.hidden,
        respect_gitignore: Some(row.respect_gitignore),
        max_file_bytes: Some(row.max_file_bytes),
        trust: Trust::named(&row.trust).ok_or_else(|| unknown("trust", &row.trust))?,
        reviewed: row.list(&row.reviewed)?,
    })
}

/// The folder of a stored source, as seen from the folder of the store. No symbolic link took its place since it
/// was noted: whoever put one there would decide what is read.
///
/// # Errors
/// [`Error::Refused`] with `root_changed`. A folder that is missing is for the opening to find out.
pub(crate) fn stored_root(folder: &Path, row: &SourceRow) -> Result<PathBuf> {
    let noted = folder.join(&row.root);
    let Ok(found) = noted.canonicalize() else { return Ok(noted) };
    let folder = folder.canonicalize().map_err(|error| Error::io(folder, error))?;
    let seen = relative(&folder, &found);
    if seen == Path::new(&row.root) {
        return Ok(found);
    }
    Err(Error::Refused {
        code: "root_changed",
        message: format!(
            "source {} was indexed from {}, which now leads to {}; nothing was changed",
            row.source_id,
            row.root,
            seen.display()
        ),
        hint: "put the folder back in its place, or declare the one it leads to".into(),
    })
}

/// `path` as seen from `folder`; both absolute and without `..`.
fn relative(folder: &Path, path: &Path) -> PathBuf {
    let (mut from, mut to) = (folder.components().peekable(), path.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    let relative: PathBuf = from.map(|_| Component::ParentDir).chain(to).collect();
    if relative.as_os_str().is_empty() { PathBuf::from(".") } else { relative }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/a/b", "/a/b/docs", "docs")]
    #[case("/a/b", "/a/b", ".")]
    #[case("/a/b", "/a", "..")]
    #[case("/a/b", "/a/c/docs", "../c/docs")]
    #[case("/a/b", "/a/bc", "../bc")]
    #[case("/", "/docs", "docs")]
    fn roots_are_seen_from_the_store(#[case] folder: &str, #[case] path: &str, #[case] expected: &str) {
        assert_eq!(relative(Path::new(folder), Path::new(path)), Path::new(expected));
    }
}
