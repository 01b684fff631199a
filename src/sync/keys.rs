//! The access classes that a sync meets.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::rule::ClassKey;

/// Access classes, numbered as the workers meet them. The store's numbers are given out in the transaction, in the order of
/// the documents.
#[derive(Default)]
pub(super) struct Keys(Mutex<Known>);

#[derive(Default)]
struct Known {
    numbers: HashMap<ClassKey, u32>,
    keys: Vec<ClassKey>,
}

impl Keys {
    /// The number of a class.
    pub(super) fn number(&self, key: &ClassKey) -> u32 {
        let mut known = self.lock();
        if let Some(&number) = known.numbers.get(key) {
            return number;
        }
        let number = u32::try_from(known.keys.len()).unwrap_or(u32::MAX);
        known.numbers.insert(key.clone(), number);
        known.keys.push(key.clone());
        number
    }

    /// The class with this number.
    pub(super) fn key(&self, number: u32) -> Option<ClassKey> {
        self.lock().keys.get(number as usize).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
