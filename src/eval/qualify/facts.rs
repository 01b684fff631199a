//! The built-in set: seven small pages in English and Chinese, and the twelve facts that an answer about them must state.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// A fact that must be stated.
pub(super) struct Fact {
    /// Its name.
    pub name: &'static str,
    /// The page that states it.
    pub path: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// The fact, as the page states it.
    pub claim: &'static str,
}

const fn fact(name: &'static str, path: &'static str, question: &'static str, claim: &'static str) -> Fact {
    Fact { name, path, question, claim }
}

/// The facts. The first is the one whose number is changed, in the answer and in its page.
pub(super) const FACTS: [Fact; 12] = [
    fact(
        "refund_days",
        "refunds.md",
        "Within how many days may a customer ask for a refund?",
        "A customer may ask for a refund within 45 days of delivery.",
    ),
    fact(
        "refund_payment",
        "refunds.md",
        "When does the money of a refund arrive?",
        "The money of a refund arrives within 5 business days.",
    ),
    fact("error_e42", "errors.md", "What does error E42 mean?", "Error E42 means that the bank declined the card."),
    fact("error_e17", "errors.md", "What does error E17 mean?", "Error E17 means that the key is unknown."),
    fact(
        "key_sharing",
        "keys.md",
        "May a key be shared between services?",
        "A key must not be shared between two services.",
    ),
    fact("key_rotation", "keys.md", "When is a key rotated?", "Every key is rotated after 90 days."),
    fact(
        "body_limit",
        "limits.md",
        "How many KiB may the body of a request have?",
        "The body of a request may have at most 256 KiB.",
    ),
    fact("log_days", "zh/logs.md", "运行日志保留多少天？", "运行日志保留 30 天，到期后自动删除。"),
    fact("audit_days", "zh/logs.md", "审计日志保留多少天？", "审计日志保留 400 天。"),
    fact("travel_approval", "zh/travel.md", "出境差旅由谁批准？", "出境差旅必须由两名主管批准。"),
    fact("lodging_limit", "zh/travel.md", "境内住宿每晚上限是多少？", "境内住宿每晚上限为 600 元。"),
    fact("urgent_reply", "zh/support.md", "紧急工单在多少分钟内回复？", "紧急工单在 15 分钟内回复。"),
];

const PAGES: [(&str, &str); 7] = [
    ("refunds.md", include_str!("corpus/refunds.md")),
    ("errors.md", include_str!("corpus/errors.md")),
    ("keys.md", include_str!("corpus/keys.md")),
    ("limits.md", include_str!("corpus/limits.md")),
    ("zh/logs.md", include_str!("corpus/zh/logs.md")),
    ("zh/travel.md", include_str!("corpus/zh/travel.md")),
    ("zh/support.md", include_str!("corpus/zh/support.md")),
];

/// Writes the pages below a folder.
pub(super) fn write_pages(folder: &Path) -> Result<()> {
    for (name, text) in PAGES {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        fs::write(&path, text).map_err(|error| Error::io(&path, error))?;
    }
    Ok(())
}

/// The page of the first fact with another number of days.
pub(super) fn with_52_days() -> (&'static str, String) {
    let (name, text) = PAGES[0];
    (name, text.replace("45 days", "52 days"))
}
