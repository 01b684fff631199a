//! The cue words themselves, as data: what each says of its sentence, and pairs of opposites.

use std::sync::LazyLock;

use super::phrase::Phrases;
use super::polarity::Class;
use super::token::{Kind, Token};

const CUES: &[(Class, &str)] = &[
    (
        Class::Negation,
        "not,no,never,neither,nor,none,nobody,nothing,nowhere,without,isn't,aren't,wasn't,weren't,\
        doesn't,don't,didn't,hasn't,haven't,hadn't,won't,wouldn't,isnt,arent,doesnt,dont,didnt,hardly,barely,rarely,seldom,\
        scarcely,no longer,not yet,cannot be,\
        不,没,没有,无,未,非,勿,莫,并非,不是,从不,从未,绝不,尚未,未曾,毫无,不再",
    ),
    (
        Class::Denial,
        "fail,fails,failed,failing,failure,lack,lacks,lacked,lacking,absence,absent,false,falsely,untrue,myth,wrong,\
        incorrect,incorrectly,unable,impossible,refute,refutes,refuted,deny,denies,denied,rejected,rejects,reject,\
        contrary to,far from,prevent,prevents,prevented,avoid,avoids,avoided,debunked,disproved,disproven,misleading,\
        unlikely,independent of,independently of,unaffected,缺乏,缺少,失败,拒绝,错误,避免",
    ),
    (
        Class::Obligation,
        "must,shall,required,requires,require,requirement,need to,needs to,needed,have to,has to,had to,\
        mandatory,obligatory,necessary,obliged,compulsory,必须,必需,须,务必,需要,需,必要,强制,应当,一定要",
    ),
    (
        Class::Prohibition,
        "must not,mustn't,shall not,may not,can not,cannot,can't,could not,couldn't,not allowed,\
        isn't allowed,not permitted,prohibited,prohibits,prohibit,forbidden,forbids,forbid,banned,disallowed,\
        should not,shouldn't,ought not,禁止,不得,不能,不可,不可以,不允许,不准,不许,严禁,切勿,请勿,不要,不应,不应该,不该,不宜,无法,无权",
    ),
    (Class::Permission, "may,can,allowed,allows,allow,permitted,permits,permit,able to,可以,可,能,能够,允许,准许,有权"),
    (
        Class::Exemption,
        "need not,needn't,not required,isn't required,aren't required,not require,not need,not needed,\
        not necessary,not mandatory,unnecessary,not obliged,not have to,don't have to,doesn't have to,do not have to,\
        does not have to,does not need to,do not need to,don't need to,doesn't need to,does not need,do not need,\
        does not require,do not require,doesn't require,don't require,without requiring,without needing,\
        optional,optionally,exempt,exempted,waived,不需要,不需,无需,无须,不必,不用,毋须,毋需,非必须,不必须,可选,选填,免除,豁免,免",
    ),
    (
        Class::Advice,
        "should,ought to,recommended,recommends,recommend,advised,advisable,suggested,preferred,preferably,\
        encouraged,better to,应该,应,建议,推荐,最好,宜",
    ),
    (
        Class::Hedge,
        "might,could,would,perhaps,possibly,possible,maybe,potentially,potential,likely,probably,probable,\
        seem,seems,appear,appears,apparently,suggest,suggests,hypothesis,hypothesized,hypothesised,hypothesize,\
        alleged,allegedly,claim,claims,claimed,claiming,argue,argues,argued,believe,believes,believed,belief,whether,reportedly,\
        expected,predicted,predict,predicts,projected,estimated,assumed,supposed,proposed,planned,intended,rumoured,rumored,\
        said,says,according to,if not,so-called,suspected,unclear,unknown,controversial,disputed,debated,question,\
        asked,investigated,examined,tested,try,tries,tried,attempt,attempts,attempted,aim,aims,aimed,\
        可能,也许,或许,大概会,似乎,好像,据说,据称,声称,推测,估计,预计,预测,是否,有望,或将,恐怕,疑似,假设,认为",
    ),
    (
        Class::Condition,
        "if,unless,except,excluding,instead of,rather than,only,only if,provided,providing,when,whenever,while,until,till,unlike,\
        in case,depending,depends,subject to,as long as,otherwise,other than,apart from,although,though,despite,even though,\
        however,but,assuming,once,在未,除非,除了,除,除外,如果,若,假如,倘若,要是,只有,只,仅,仅限,仅在,只要,只能,则,否则,时,当,\
        前提,视,取决于,但,但是,而不是,而非,然而,虽然,尽管,直到,方可,才,才能,才可",
    ),
    (
        Class::Quantifier,
        "all,every,each,any,some,most,many,few,fewer,several,both,either,always,often,sometimes,usually,\
        generally,frequently,occasionally,mostly,mainly,largely,partly,partially,half,half of,majority,minority,entire,\
        entirely,completely,fully,exclusively,solely,one of,at all,almost all,nearly all,first,second,third,last,twice,once a,\
        not only,not just,not merely,不仅,不但,不仅仅,不只,\
        primarily,certain,others,another,所有,全部,全体,每,每个,任何,任意,一些,部分,有些,大多数,多数,少数,大部分,都,均,\
        一律,总是,经常,有时,通常,一般,偶尔,往往,完全,双重,两次,一次,首次",
    ),
    (Class::Voice, "by,than,被,由,比"),
    (
        Class::Neutral,
        "whether or not,no doubt,when it comes to,can be found,不同,\
        不断,不久,不管,不论,不少,不锈钢,无论,无线,无线电,非常,非洲,未来,没收,淹没,沉没,特别,级别,区别,分别,可能性,功能,性能,\
        能力,能源,智能,节能,可靠,可靠性,可用,可用性,许可,认可,应用,应用程序,供应,响应,对应,适应,反应,反应堆,效应,自动,当前,\
        当地,当年,当日,当天,当时,时间,小时,及时,实时,同时,定时,按时,时区,时候,临时,需求,必需品,每天,每日,每月,每年,每周,\
        每晚,每次,规则,原则,刚才,人才,才华,无人机,免费,视频,视图,重视,由于,理由,自由,对比,比例,比较,比如,比赛,\
        除法,清除,删除,解除,移除,排除,一般来说,都市,首都,平均,不过,无效,异常,非法",
    ),
];

/// Pairs of opposites; the words of each side, without endings for English.
const OPPOSITES: &[(&str, &str)] = &[
    (
        "increase,increases,increased,increasing,rise,rises,rose,risen,rising,grow,grows,grew,grown,growing,growth,raise,raises,raised,elevate,elevated,elevates,higher,upregulate,upregulates,upregulated,accelerate,accelerates,accelerated,accelerating,enhance,enhances,enhanced,gain,gains,gained,expand,expands,expanded,expanding,增加,上升,提高,增长,升高,上调,增大,加快,提升,上涨",
        "decrease,decreases,decreased,decreasing,fall,falls,fell,fallen,falling,decline,declines,declined,declining,reduce,reduces,reduced,reducing,reduction,shrink,shrinks,shrank,shrinking,shrunk,drop,drops,dropped,lower,lowers,lowered,downregulate,downregulates,downregulated,slow,slows,slowed,slowing,diminish,diminishes,diminished,diminishing,lose,loses,lost,losing,loss,减少,下降,降低,下调,减小,减慢,放缓,缩短,下跌",
    ),
    (
        "enable,enables,enabled,enabling,turn on,turned on,turns on,启用,打开,开启",
        "disable,disables,disabled,disabling,turn off,turned off,turns off,禁用,关闭,停用",
    ),
    ("before,prior to,precedes,earlier,之前,以前", "after,following,follows,later,之后,以后"),
    (
        "minimum,min,minimal,lowest,smallest,least,shortest,最小,最低,最少,最短,下限",
        "maximum,max,maximal,highest,largest,greatest,biggest,longest,最大,最高,最多,最长,上限",
    ),
    ("more,greater,larger,bigger,更多,更大,更高,多于", "less,smaller,fewer,更少,更小,更低,少于"),
    ("accept,accepts,accepted,accepting,接受", "refuse,refuses,refused,decline the,拒收"),
    (
        "start,starts,started,starting,begin,begins,began,beginning,开始,启动",
        "stop,stops,stopped,stopping,end,ends,ended,ending,停止,结束",
    ),
    (
        "include,includes,included,including,contains,包括,包含",
        "exclude,excludes,excluded,excluding,排除,不包括,不包含",
    ),
    ("above,高于", "below,低于"),
    ("public,公开,公有", "private,私有,私密"),
    ("true,enabled by default", "false,disabled by default"),
    ("positive,positively,阳性,积极", "negative,negatively,阴性,消极"),
    (
        "warm,warmer,warming,warmed,warms,hot,hotter,hottest,heat,变暖",
        "cool,cooler,cooling,cooled,cools,cold,colder,coldest,变冷",
    ),
    (
        "activate,activates,activated,activating,activation,induce,induces,induced,promote,promotes,promoted,stimulate,stimulates,stimulated,激活,促进",
        "inhibit,inhibits,inhibited,inhibiting,inhibition,suppress,suppresses,suppressed,block,blocks,blocked,repress,represses,repressed,deactivate,deactivates,deactivated,deactivating,抑制,阻断",
    ),
    ("sensitive,sensitivity", "resistant,resistance"),
    ("safe,safely,安全", "unsafe,dangerous,harmful,危险,不安全"),
    (
        "good,better,best,beneficial,improve,improves,improved,improving,改善",
        "bad,worse,worst,worsen,worsens,worsened,deteriorate,恶化",
    ),
    ("early,earliest", "late,latest"),
    ("internal,internally,内部,境内,国内", "external,externally,外部,境外,海外,国外"),
    ("encrypt,encrypted,encrypts,encryption,加密", "decrypt,decrypted,decrypts,decryption,解密"),
    ("lock,locks,locked,锁定", "unlock,unlocks,unlocked,解锁"),
    ("open,opens,opened", "close,closes,closed"),
    ("valid,有效,合法", "invalid,无效,非法"),
    ("succeed,succeeds,succeeded,success,successful,successfully,成功", "unsuccessful,unsuccessfully,失败"),
    ("with,带有", "without,不带"),
    ("always,总是,始终", "never,从不,从未"),
    ("thin,thinner,thinning", "thick,thicker,thickening"),
    ("strong,stronger,strengthen,strengthens,strengthened", "weak,weaker,weaken,weakens,weakened"),
    ("same,identical,相同", "different,不同"),
    ("synchronous,synchronously,同步", "asynchronous,asynchronously,异步"),
    ("import,imports,imported,导入", "export,exports,exported,导出"),
    ("inside,within the", "outside"),
    ("natural,naturally", "artificial,artificially,anthropogenic,man-made"),
    ("single,单一,单次", "double,dual,双重"),
    ("manual,manually,手动,手工", "automatic,automatically,自动"),
    ("required,mandatory", "optional"),
    ("left,左", "right,右"),
    ("north,northern", "south,southern"),
    ("faster,fast,quickly,rapid,rapidly", "slower,slowly"),
    ("common,commonly,常见", "rare,rarely,uncommon,罕见"),
];

fn list(words: &'static str) -> impl Iterator<Item = &'static str> {
    words.split(',').map(str::trim)
}

static TABLE: LazyLock<Phrases<Class>> = LazyLock::new(|| {
    Phrases::new(false, CUES.iter().flat_map(|(class, words)| list(words).map(|word| (word, *class))))
});

static OPPOSITE: LazyLock<Phrases<(u8, bool)>> = LazyLock::new(|| {
    Phrases::new(
        false,
        (0_u8..).zip(OPPOSITES).flat_map(|(pair, (one, other))| {
            let first = list(one).map(move |word| (word, (pair, false)));
            first.chain(list(other).map(move |word| (word, (pair, true))))
        }),
    )
});

/// The cue that begins at `at`, and the token behind it.
pub(super) fn cue(tokens: &[Token], at: usize) -> Option<(Class, usize)> {
    let (class, next) = TABLE.find(tokens, at)?;
    // `May` the month, `can` the tin: only the month can be told.
    let month = tokens[at].cased == "May" && !tokens[at].leads && at > 0 && !tokens[at - 1].is('.');
    let inside = tokens[at].kind == Kind::Word && at > 0 && !tokens[at].spaced && tokens[at - 1].is('_');
    (!month && !inside).then_some((class, next))
}

/// The word with an opposite that begins at `at`, and the token behind it.
pub(super) fn opposite(tokens: &[Token], at: usize) -> Option<(Class, usize)> {
    OPPOSITE.find(tokens, at).map(|((pair, side), next)| (Class::Opposite(pair, side), next))
}
