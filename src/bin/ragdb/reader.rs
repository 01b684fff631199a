//! From arguments to the principal who reads.

use ragdb::{Error, Principal};

use crate::args::ReaderArgs;
use crate::exit::Stop;
use crate::files;

/// Who reads.
pub fn principal(args: &ReaderArgs) -> Result<Principal, Stop> {
    let mut principal = match (&args.file, &args.user) {
        (Some(path), _) => Principal::from_json(&files::read(path)?)
            .map_err(|error| Stop::Ragdb(Error::Invalid { message: format!("{}: {error}", path.display()) }))?,
        (None, Some(user)) => Principal::new(args.tenant.clone().unwrap_or_default(), user)?,
        (None, None) if args.public => Principal::public(),
        (None, None) => Principal::operator(),
    };
    for group in &args.group {
        principal = principal.with_group(group)?;
    }
    for scope in &args.scope {
        principal = principal.with_scope(scope)?;
    }
    if let Some(time) = &args.at {
        principal = principal.as_of(time)?;
    }
    Ok(principal)
}
