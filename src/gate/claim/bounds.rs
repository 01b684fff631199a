//! What is said of a number beside its value: at least, at most, about.

use std::sync::LazyLock;

use super::phrase::Phrases;
use super::token::Token;

/// What is said of a number beside its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The number itself.
    Exact,
    /// It or more.
    AtLeast,
    /// It or less.
    AtMost,
    /// More than it.
    MoreThan,
    /// Less than it.
    LessThan,
    /// Near it.
    About,
    /// It on both sides.
    PlusMinus,
}

impl Bound {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::MoreThan => ">",
            Self::LessThan => "<",
            Self::About => "~",
            Self::PlusMinus => "±",
        }
    }

    pub(super) fn direction(self) -> i8 {
        match self {
            Self::AtLeast | Self::MoreThan => 1,
            Self::AtMost | Self::LessThan => -1,
            _ => 0,
        }
    }
}

const BEFORE: &[(Bound, &str)] = &[
    (
        Bound::AtLeast,
        "at least,no less than,not less than,no fewer than,not fewer than,a minimum of,minimum of,min.,≥,>=,至少,最少,起码,不少于,不低于,不小于,最低",
    ),
    (
        Bound::AtMost,
        "at most,no more than,not more than,no greater than,not exceeding,not exceed,cannot exceed,must not exceed,up to,a maximum of,maximum of,max.,within,no later than,no longer than,not longer than,≤,<=,至多,最多,不超过,不得超过,不能超过,不多于,不高于,不大于,不晚于,最高",
    ),
    (
        Bound::MoreThan,
        "more than,over,above,exceeding,exceeds,greater than,higher than,longer than,larger than,upwards of,>,超过,多于,大于,高于,逾",
    ),
    (
        Bound::LessThan,
        "less than,fewer than,under,below,lower than,shorter than,smaller than,<,少于,小于,低于,不足,不到,未满,不满",
    ),
    (
        Bound::About,
        "about,around,approximately,approx.,roughly,nearly,almost,circa,ca.,some,~,≈,∼,大约,约,约为,大概,近,将近,接近",
    ),
    (Bound::PlusMinus, "±,+/-,plus or minus"),
];

const AFTER: &[(Bound, &str)] = &[
    (
        Bound::AtLeast,
        "or more,or above,or over,or higher,or longer,or greater,and above,and over,+,以上,及以上,或以上,或更多,起",
    ),
    (Bound::AtMost, "or less,or fewer,or below,or under,or lower,or shorter,and below,以下,及以下,或以下,以内,之内,内"),
    (Bound::About, "or so,左右,上下"),
];

fn table(rows: &'static [(Bound, &'static str)]) -> Phrases<Bound> {
    Phrases::new(false, rows.iter().flat_map(|(bound, list)| list.split(',').map(|phrase| (phrase, *bound))))
}

static BOUND_BEFORE: LazyLock<Phrases<Bound>> = LazyLock::new(|| table(BEFORE));
static BOUND_AFTER: LazyLock<Phrases<Bound>> = LazyLock::new(|| table(AFTER));

/// The bound whose words begin at `at`, before its number, and the token behind them.
pub(super) fn before(tokens: &[Token], at: usize) -> Option<(Bound, usize)> {
    BOUND_BEFORE.find(tokens, at)
}

/// The bound whose words begin at `at`, behind its number, and the token behind them.
pub(super) fn after(tokens: &[Token], at: usize) -> Option<(Bound, usize)> {
    let (bound, next) = BOUND_AFTER.find(tokens, at)?;
    let plus = tokens[at].is('+') && (tokens[at].spaced || tokens.get(next).is_some_and(|token| !token.spaced));
    // `内` of `内容`, `起` of `起来`.
    let cut = next == at + 1
        && tokens
            .get(next)
            .is_some_and(|token| !token.spaced && "容部存核置网地来始源点草诉".contains(token.folded.as_str()));
    (!plus && !cut).then_some((bound, next))
}
