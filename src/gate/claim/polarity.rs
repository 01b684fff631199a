//! Whether a claim and a text agree in what they deny, demand, allow, doubt and condition, by their cue words.

/// What a cue word says of its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// It denies.
    Negation,
    /// It says with a word of its own that something is not so: `fails`, `a myth`.
    Denial,
    /// It must be.
    Obligation,
    /// It must not be.
    Prohibition,
    /// It may be.
    Permission,
    /// It need not be.
    Exemption,
    /// It is better so.
    Advice,
    /// It is not certain, or someone only says it.
    Hedge,
    /// It holds only where something else does.
    Condition,
    /// Of how many, or how often.
    Quantifier,
    /// Who does it and whom it is done to: `by`.
    Voice,
    /// One of two opposites: which pair, and which of the two.
    Opposite(u8, bool),
    /// No cue, although it holds one: `not only`.
    Neutral,
}

impl Class {
    /// Whether its words all say the same, so that one may stand for another: `must` and `is required to`.
    pub(super) fn is_closed(self) -> bool {
        self == Self::Negation || STANCES.contains(&self)
    }
}

/// A cue word in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cue {
    pub(super) class: Class,
    /// The words, folded.
    pub(super) words: String,
    /// Index of its first token.
    pub(super) at: usize,
    /// The word that it bears on: the next one that is no cue and no small word.
    pub(super) anchor: Option<String>,
}

/// How the polarity of a claim and of what it cites compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// They say the same.
    Same,
    /// One affirms what the other denies, or is certain of what the other allows; in words.
    Opposed(String),
    /// It can't be told; in words.
    Unclear(String),
}

/// The hedges that say plainly that something is not certain; others, such as `suggests`, leave it open.
const PERHAPS: [&str; 9] = ["might", "could", "perhaps", "possibly", "maybe", "可能", "也许", "或许", "疑似"];

/// Compares the cues of a claim with those of the text that it is held to.
pub(super) fn agreement(claim: &[Cue], span: &[Cue]) -> Agreement {
    if let Some(words) = opposites(claim, span) {
        return Agreement::Opposed(words);
    }
    let stance = stances(claim, span);
    if stance != Agreement::Same {
        return stance;
    }
    let negations = negations(claim, span);
    if negations != Agreement::Same {
        return negations;
    }
    let said = |class: Class| (words_of(claim, class), words_of(span, class));
    let (claimed, cited) = said(Class::Denial);
    match (claimed.is_empty(), cited.is_empty()) {
        _ if claimed == cited => {}
        (true, _) => return Agreement::Opposed(format!("the cited text says {:?}", cited.join(", "))),
        (_, true) => return Agreement::Opposed(format!("only the claim says {:?}", claimed.join(", "))),
        _ => return Agreement::Unclear("the claim and the cited text deny in different words".to_owned()),
    }
    let (claimed, cited) = said(Class::Hedge);
    if claimed != cited {
        return if claimed.is_empty() && cited.iter().any(|words| PERHAPS.contains(words)) {
            Agreement::Opposed(format!("the claim is certain, the cited text says {:?}", cited.join(", ")))
        } else {
            let (who, words) = if cited.is_empty() { ("claim", claimed) } else { ("cited text", cited) };
            Agreement::Unclear(format!("only the {who} says {:?}", words.join(", ")))
        };
    }
    for (class, name) in [(Class::Condition, "qualification"), (Class::Quantifier, "quantity"), (Class::Voice, "role")]
    {
        let (claimed, cited) = said(class);
        if claimed != cited {
            let (who, words) = if cited.is_empty() { ("claim", claimed) } else { ("cited text", cited) };
            return Agreement::Unclear(format!("only the {who} has this {name}: {:?}", words.join(", ")));
        }
    }
    Agreement::Same
}

fn words_of(cues: &[Cue], class: Class) -> Vec<&str> {
    cues.iter().filter(|cue| cue.class == class).map(|cue| cue.words.as_str()).collect()
}

fn opposites(claim: &[Cue], span: &[Cue]) -> Option<String> {
    let has = |cues: &[Cue], wanted: Class| cues.iter().any(|cue| cue.class == wanted);
    claim.iter().find_map(|cue| {
        let Class::Opposite(pair, side) = cue.class else { return None };
        let other = span.iter().find(|other| other.class == Class::Opposite(pair, !side))?;
        let both = has(span, cue.class) || has(claim, other.class);
        (!both).then(|| format!("the claim says {:?}, the cited text {:?}", cue.words, other.words))
    })
}

const STANCES: [Class; 5] = [Class::Obligation, Class::Prohibition, Class::Permission, Class::Exemption, Class::Advice];

fn stances(claim: &[Cue], span: &[Cue]) -> Agreement {
    let of = |cues: &[Cue]| {
        let mut found: Vec<(Class, Option<String>)> =
            cues.iter().filter(|cue| STANCES.contains(&cue.class)).map(|cue| (cue.class, cue.anchor.clone())).collect();
        found.sort();
        found
    };
    let (claimed, cited) = (of(claim), of(span));
    let classes = |stances: &[(Class, Option<String>)]| stances.iter().map(|(class, _)| *class).collect::<Vec<_>>();
    if classes(&claimed) == classes(&cited) {
        // With several, each must bear on the same word; one alone may be said in other words.
        return if claimed.len() < 2 || claimed == cited {
            Agreement::Same
        } else {
            Agreement::Unclear("what must and what may be is not said of the same words".to_owned())
        };
    }
    let name = |stances: &[(Class, Option<String>)]| {
        let cues: Vec<&str> = stances.iter().map(|(class, _)| stance_name(*class)).collect();
        if cues.is_empty() { "states a fact".to_owned() } else { format!("says what {}", cues.join(" and ")) }
    };
    let words = format!("the claim {}, the cited text {}", name(&claimed), name(&cited));
    let one_sided = |stances: &[(Class, Option<String>)]| {
        stances.iter().any(|(class, _)| matches!(class, Class::Prohibition | Class::Exemption))
    };
    let certain_of_less =
        claimed.is_empty() && cited.iter().any(|(class, _)| matches!(class, Class::Permission | Class::Advice));
    if !claimed.is_empty() && !cited.is_empty() || one_sided(&claimed) || one_sided(&cited) || certain_of_less {
        Agreement::Opposed(words)
    } else {
        Agreement::Unclear(words)
    }
}

fn stance_name(class: Class) -> &'static str {
    match class {
        Class::Obligation => "must be",
        Class::Prohibition => "must not be",
        Class::Permission => "may be",
        Class::Exemption => "need not be",
        _ => "should be",
    }
}

fn negations(claim: &[Cue], span: &[Cue]) -> Agreement {
    let of = |cues: &[Cue]| -> Vec<Option<String>> {
        cues.iter().filter(|cue| cue.class == Class::Negation).map(|cue| cue.anchor.clone()).collect()
    };
    let (claimed, cited) = (of(claim), of(span));
    match (claimed.len(), cited.len()) {
        _ if claimed == cited => Agreement::Same,
        (0, 1) => Agreement::Opposed("the cited text denies what the claim affirms".to_owned()),
        (1, 0) => Agreement::Opposed("the claim denies what the cited text affirms".to_owned()),
        _ => Agreement::Unclear("the claim and the cited text deny different things".to_owned()),
    }
}
