//! From the options that say who reads to a principal.

use ragdb::{Error, Principal};

use crate::args::ReaderArgs;
use crate::exit::Stop;
use crate::files;

impl ReaderArgs {
    /// Who reads.
    pub fn principal(&self) -> Result<Principal, Stop> {
        let mut principal = match (&self.principal, &self.user) {
            (Some(path), _) => Principal::from_json(&files::read(path)?)
                .map_err(|error| Error::Invalid { message: format!("{}: {error}", path.display()) })?,
            (None, Some(user)) => {
                let known = Principal::new(self.tenant.as_deref().unwrap_or_default(), user)?;
                self.group.iter().try_fold(known, Principal::with_group)?
            }
            (None, None) if self.public => Principal::public(),
            (None, None) => Principal::operator(),
        };
        for scope in &self.scope {
            principal = principal.with_scope(scope)?;
        }
        Ok(match &self.at {
            Some(time) => principal.as_of(time)?,
            None => principal,
        })
    }
}
