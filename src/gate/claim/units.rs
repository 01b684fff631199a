//! Units under one name each. Units are never converted: what is said in hours is not compared with minutes.

use std::sync::LazyLock;

use super::phrase::Phrases;
use super::token::{Kind, Token};

/// A unit's normalised name, its symbols (case counts) and its words, both separated by commas.
type Row = (&'static str, &'static str, &'static str);

const UNITS: &[Row] = &[
    ("%", "%,﹪", "percent,per cent"),
    ("‰", "‰", "per mille,permille"),
    ("percentage point", "pp", "percentage point,percentage points,个百分点,百分点"),
    ("basis point", "bp,bps", "basis point,basis points,个基点,基点"),
    ("nanosecond", "ns", "nanosecond,nanoseconds,纳秒"),
    ("microsecond", "μs,us", "microsecond,microseconds,微秒"),
    ("millisecond", "ms", "millisecond,milliseconds,毫秒"),
    ("second", "s", "second,seconds,sec,secs,秒,秒钟"),
    ("minute", "", "minute,minutes,min,mins,分钟"),
    ("hour", "h", "hour,hours,hr,hrs,小时,个小时,钟头,个钟头"),
    ("day", "", "day,days,天,日,个自然日,自然日"),
    ("business day", "", "business day,business days,working day,working days,个工作日,工作日"),
    ("calendar day", "", "calendar day,calendar days"),
    ("night", "", "night,nights,晚"),
    ("week", "", "week,weeks,周,星期,个星期,礼拜,个礼拜"),
    ("month", "", "month,months,个月"),
    ("quarter", "", "quarters,个季度,季度"),
    ("year", "", "year,years,yr,yrs,年"),
    ("decade", "", "decade,decades"),
    ("century", "", "century,centuries,世纪,个世纪"),
    ("bit", "", "bit,bits,比特"),
    ("byte", "B", "byte,bytes,字节,个字节"),
    ("kB", "kB,KB", "kilobyte,kilobytes"),
    ("MB", "MB", "megabyte,megabytes,兆字节"),
    ("GB", "GB", "gigabyte,gigabytes"),
    ("TB", "TB", "terabyte,terabytes"),
    ("PB", "PB", "petabyte,petabytes"),
    ("KiB", "KiB", "kibibyte,kibibytes"),
    ("MiB", "MiB", "mebibyte,mebibytes"),
    ("GiB", "GiB", "gibibyte,gibibytes"),
    ("TiB", "TiB", "tebibyte,tebibytes"),
    ("kbit", "kbit,Kbit", "kilobit,kilobits"),
    ("Mbit", "Mb,Mbit", "megabit,megabits"),
    ("Gbit", "Gb,Gbit", "gigabit,gigabits"),
    ("kbit/s", "kbps,Kbps", ""),
    ("Mbit/s", "Mbps", ""),
    ("Gbit/s", "Gbps", ""),
    ("pixel", "px", "pixel,pixels,像素"),
    ("nanometre", "nm", "nanometre,nanometres,nanometer,nanometers,纳米"),
    ("micrometre", "μm,um", "micrometre,micrometres,micrometer,micrometers,micron,microns,微米"),
    ("millimetre", "mm", "millimetre,millimetres,millimeter,millimeters,毫米"),
    ("centimetre", "cm", "centimetre,centimetres,centimeter,centimeters,厘米"),
    ("metre", "m", "metre,metres,meter,meters,米"),
    ("kilometre", "km", "kilometre,kilometres,kilometer,kilometers,公里,千米"),
    ("inch", "", "inch,inches,英寸"),
    ("foot", "ft", "foot,feet,英尺"),
    ("yard", "yd", "yard,yards"),
    ("mile", "mi", "mile,miles,英里"),
    ("light year", "", "light year,light years,光年"),
    ("square metre", "m²", "square metre,square metres,square meter,square meters,平方米"),
    (
        "square kilometre",
        "km²",
        "square kilometre,square kilometres,square kilometer,square kilometers,平方公里,平方千米",
    ),
    ("square mile", "", "square mile,square miles"),
    ("acre", "", "acre,acres,英亩"),
    ("hectare", "ha", "hectare,hectares,公顷"),
    ("cubic metre", "m³", "cubic metre,cubic metres,cubic meter,cubic meters,立方米"),
    ("microgram", "μg", "microgram,micrograms,微克"),
    ("milligram", "mg", "milligram,milligrams,毫克"),
    ("gram", "g", "gram,grams,克"),
    ("kilogram", "kg", "kilogram,kilograms,公斤,千克"),
    ("jin", "", "斤"),
    ("tonne", "t", "tonne,tonnes,metric ton,metric tons,吨"),
    ("ton", "", "ton,tons"),
    ("gigatonne", "Gt", "gigatonne,gigatonnes,gigaton,gigatons"),
    ("pound", "lb,lbs", "pound,pounds"),
    ("ounce", "oz", "ounce,ounces,盎司"),
    ("millilitre", "ml,mL", "millilitre,millilitres,milliliter,milliliters,毫升"),
    ("litre", "l,L", "litre,litres,liter,liters,升"),
    ("gallon", "", "gallon,gallons,加仑"),
    ("barrel", "", "barrel,barrels"),
    ("°C", "°C,℃", "degree celsius,degrees celsius,degree centigrade,degrees centigrade,摄氏度"),
    ("°F", "°F,℉", "degree fahrenheit,degrees fahrenheit,华氏度"),
    ("kelvin", "K", "kelvin,kelvins"),
    ("degree", "°", "degree,degrees,度"),
    ("ppm", "ppm", "parts per million"),
    ("ppb", "ppb", "parts per billion"),
    ("milliwatt", "mW", "milliwatt,milliwatts"),
    ("watt", "W", "watt,watts,瓦"),
    ("kilowatt", "kW", "kilowatt,kilowatts,千瓦"),
    ("megawatt", "MW", "megawatt,megawatts,兆瓦"),
    ("gigawatt", "GW", "gigawatt,gigawatts"),
    ("terawatt", "TW", "terawatt,terawatts"),
    ("kilowatt hour", "kWh", "kilowatt hour,kilowatt hours,千瓦时"),
    ("megawatt hour", "MWh", "megawatt hour,megawatt hours"),
    ("volt", "V", "volt,volts,伏,伏特"),
    ("joule", "J", "joule,joules,焦耳"),
    ("hertz", "Hz", "hertz,赫兹"),
    ("kilohertz", "kHz", "kilohertz"),
    ("megahertz", "MHz", "megahertz"),
    ("gigahertz", "GHz", "gigahertz"),
    ("decibel", "dB", "decibel,decibels,分贝"),
    ("millimolar", "mM", ""),
    ("micromolar", "μM", ""),
    ("nanomolar", "nM", ""),
    ("time", "", "time,times,次"),
    ("fold", "", "fold,倍"),
    ("line", "", "line,lines,行"),
    ("character", "", "character,characters,chars,字符,个字符"),
    ("usd", "USD", "dollar,dollars,us dollar,us dollars,美元,美金"),
    ("eur", "€,EUR", "euro,euros,欧元"),
    ("gbp", "£,GBP", "英镑,pounds sterling"),
    ("cny", "CNY,RMB", "yuan,renminbi,元,人民币,元人民币,块钱,块"),
    ("jpy", "JPY", "yen,日元,円"),
    ("hkd", "HKD,HK$", "港元,港币"),
    ("twd", "TWD,NT$", "新台币"),
    ("inr", "INR,₹", "rupee,rupees,卢比"),
    ("krw", "KRW,₩", "韩元"),
    ("¥", "¥", ""),
    ("cent", "", "cent,cents"),
];

/// Signs and codes that stand before an amount.
const BEFORE: &[(&str, &str)] = &[
    ("$", "usd"),
    ("US$", "usd"),
    ("USD", "usd"),
    ("美元", "usd"),
    ("€", "eur"),
    ("EUR", "eur"),
    ("£", "gbp"),
    ("GBP", "gbp"),
    ("¥", "¥"),
    ("RMB", "cny"),
    ("CNY", "cny"),
    ("人民币", "cny"),
    ("JPY", "jpy"),
    ("HK$", "hkd"),
    ("HKD", "hkd"),
    ("NT$", "twd"),
    ("TWD", "twd"),
    ("A$", "aud"),
    ("AUD", "aud"),
    ("C$", "cad"),
    ("CAD", "cad"),
    ("CHF", "chf"),
    ("₹", "inr"),
    ("₩", "krw"),
];

fn split(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').filter(|item| !item.is_empty())
}

static SYMBOLS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(true, UNITS.iter().flat_map(|(name, symbols, _)| split(symbols).map(|symbol| (symbol, *name))))
});
static WORDS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| {
    Phrases::new(false, UNITS.iter().flat_map(|(name, _, words)| split(words).map(|word| (word, *name))))
});
static SIGNS: LazyLock<Phrases<&'static str>> = LazyLock::new(|| Phrases::new(true, BEFORE.iter().copied()));

/// Han characters that make another word of a unit before them: `天然`, `日志`, `年龄`, `度假`, `内存`.
const NOT_AFTER: &[(&str, &str)] = &[
    ("天", "然气空"),
    ("日", "志常期程历"),
    ("年", "龄级度份代"),
    ("度", "假量过"),
    ("行", "为业政动程"),
    ("次", "数序要级"),
    ("元", "素数据旦"),
    ("周", "期围末边年"),
    ("米", "饭粉"),
    ("克", "服"),
    ("升", "级序高"),
    ("分钟", ""),
    ("块", "状"),
    ("秒", "杀"),
    ("晚", "上期间"),
    ("倍", "数"),
    ("斤", ""),
];

fn is_cut(tokens: &[Token], at: usize, next: usize) -> bool {
    let one = next == at + 1 && tokens[at].kind == Kind::Han;
    let follows = tokens.get(next).filter(|token| token.kind == Kind::Han && !token.spaced);
    match follows {
        Some(follows) if one => {
            NOT_AFTER.iter().any(|(unit, after)| *unit == tokens[at].folded && after.contains(follows.folded.as_str()))
        }
        _ => false,
    }
}

/// The unit at `at`, and the token behind it.
pub(super) fn unit(tokens: &[Token], at: usize) -> Option<(&'static str, usize)> {
    let symbol = SYMBOLS.find(tokens, at);
    let word = WORDS.find(tokens, at);
    let (name, next) = match (symbol, word) {
        (Some(symbol), Some(word)) if word.1 > symbol.1 => word,
        (Some(symbol), _) => symbol,
        (None, word) => word?,
    };
    let joined = |next: usize| tokens.get(next).filter(|token| !token.spaced);
    let word_goes_on = tokens[next - 1].kind == Kind::Word
        && joined(next).is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Digits) || token.is('_'));
    if word_goes_on || is_cut(tokens, at, next) { None } else { Some((name, next)) }
}

/// The currency that stands before an amount at `at`, and the token behind it.
pub(super) fn before(tokens: &[Token], at: usize) -> Option<(&'static str, usize)> {
    SIGNS.find(tokens, at)
}

/// Chinese measure words that say nothing but that something is counted.
pub(super) fn is_classifier(token: &Token) -> bool {
    token.kind == Kind::Han && "个名位条台份种件项本张只家篇款枚辆步级层重道".contains(token.folded.as_str())
}
