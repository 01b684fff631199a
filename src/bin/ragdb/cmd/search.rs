//! `ragdb search`: ranked chunks, and with `--explain` where their scores come from.

use std::io;
use std::mem::ManuallyDrop;

use ragdb::{ExpectedPolicy, SearchRequest};

use crate::args::SearchArgs;
use crate::context::Context;
use crate::exit::{Outcome, Stop};
use crate::render::{Align, Role, Screen, Table, View, clean, counted, snippet};
use crate::retriever;

mod view;

use view::{ExplanationView, HitView, SearchView, VectorsView};

/// Filters narrow what words find.
const NOTHING_TO_RANK: &str = "the query has no word to search for; filters and exclusions narrow what words find";

/// Runs the verb.
pub fn run(args: &SearchArgs, context: &mut Context) -> Result<Outcome, Stop> {
    let reader = args.reader.principal()?;
    let config = context.config_for(&reader)?;
    let expected_policy = config.as_ref().map(ExpectedPolicy::from);
    let retriever = retriever::retriever(&args.retriever, config.as_ref(), context)?;
    let request = SearchRequest {
        top_k: args.top_k.into(),
        min_score: args.min_score,
        floor: args.floor,
        all_terms: args.all_terms,
        literal: args.literal,
        expected_policy,
        explain: args.explain,
        retriever,
        similarity_floor: args.retriever.ranking.similarity_floor,
        ..SearchRequest::new(args.query.join(" "))
    };
    // To close it would free piece by piece what the end of the process frees at once, and do no more.
    let store = ManuallyDrop::new(context.open_read_only()?);
    let result = store.search(&reader, &request)?;
    let found = !result.hits.is_empty();
    let (refused, ranks) = (result.refused.len(), result.term_count > 0);
    let unsafe_left = result.unsafe_left;
    let missing = result.vectors.as_ref().map_or(0, |vectors| vectors.missing);
    context.print(&SearchView::new(result, args.explain))?;
    if !context.json && missing > 0 {
        context.note(&format!("{} no vector yet, and only words find them: ragdb embed", have(missing)));
    }
    if !context.json && !found {
        context.note(if ranks { "nothing in the store answers this query" } else { NOTHING_TO_RANK });
    }
    if !context.json && refused > 0 && !args.explain {
        context.note(&format!("{refused} chunks were refused; --explain says why"));
    }
    if !context.json && unsafe_left > 0 {
        context.note(&format!("{unsafe_left} unsafe chunks were not looked at: unsafe_not_all_looked_at"));
    }
    Ok(Outcome::of(found))
}

fn have(chunks: u64) -> String {
    format!("{} {}", counted(chunks, "chunk"), if chunks == 1 { "has" } else { "have" })
}

impl View for SearchView {
    fn text(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        for (position, hit) in self.hits.iter().enumerate() {
            if position > 0 {
                writeln!(screen.out)?;
            }
            write_hit(hit, screen)?;
            if let Some(explanation) = &hit.explanation {
                write_explanation(explanation, self.floor, screen)?;
            }
        }
        if self.explain {
            if !self.hits.is_empty() {
                writeln!(screen.out)?;
            }
            self.write_query(screen)?;
        }
        Ok(())
    }
}

fn write_hit(hit: &HitView, screen: &mut Screen<'_>) -> io::Result<()> {
    let palette = screen.palette;
    let (rank, score) = (format!("{:>2}", hit.rank), format!("{:>8.4}", hit.score));
    let citation = clean::one_line(&hit.citation);
    writeln!(screen.out, "{}  {score}  {}", palette.paint(Role::Strong, &rank), palette.paint(Role::Place, &citation))?;
    let heading = if hit.heading_path.is_empty() { hit.title.clone() } else { hit.heading_path.join(" > ") };
    if !heading.is_empty() {
        writeln!(screen.out, "    {}", palette.paint(Role::Faint, &clean::one_line(&heading)))?;
    }
    if let Some(found_by) = &hit.found_by
        && let Some(lists) = found_by.sentence()
    {
        writeln!(screen.out, "    {}", palette.paint(Role::Faint, &lists))?;
    }
    for line in snippet::select(&hit.text, &hit.highlights) {
        let number = format!("{:>8}", u64::from(hit.start_line) + line.offset as u64);
        write!(screen.out, "{} ", palette.paint(Role::Faint, &number))?;
        write!(screen.out, "{}", if line.cut_before { "…" } else { "" })?;
        for (piece, is_match) in line.pieces {
            if is_match {
                write!(screen.out, "{}", palette.paint(Role::Match, piece))?;
            } else {
                write!(screen.out, "{}", clean::Clean(piece))?;
            }
        }
        writeln!(screen.out, "{}", if line.cut_after { "…" } else { "" })?;
    }
    Ok(())
}

fn write_explanation(explanation: &ExplanationView, floor: f64, screen: &mut Screen<'_>) -> io::Result<()> {
    let ExplanationView { length, average_length, information_share, terms } = explanation;
    writeln!(
        screen.out,
        "    {length} terms long (average {average_length:.1}); matches {information_share:.3} of the query's \
         information (floor {floor})"
    )?;
    let headings = [
        ("term", Align::Left),
        ("tf", Align::Right),
        ("df", Align::Right),
        ("idf", Align::Right),
        ("weight", Align::Right),
        ("score", Align::Right),
    ];
    let mut table = Table::new(headings, 40);
    for term in terms {
        table.row([
            term.term.clone(),
            term.tf.to_string(),
            term.df.to_string(),
            format!("{:.4}", term.idf),
            format!("{:.3}", term.weight),
            format!("{:.4}", term.contribution),
        ]);
    }
    table.write(screen, 4)
}

impl SearchView {
    /// Writes what became of the query's terms, and which chunks were refused.
    fn write_query(&self, screen: &mut Screen<'_>) -> io::Result<()> {
        let query = clean::one_line(&self.query);
        let vectors = self.vectors.as_ref().map_or_else(String::new, VectorsView::sentence);
        writeln!(screen.out, "query: {query} (generation {}, floor {}{vectors})", self.generation, self.floor)?;
        let headings = [("term", Align::Left), ("df", Align::Right), ("idf", Align::Right), ("weight", Align::Right)];
        let mut table = Table::new(headings, 40);
        for term in &self.terms {
            let numbers = [term.df.to_string(), format!("{:.4}", term.idf), format!("{:.3}", term.weight)];
            table.row([term.term.clone()].into_iter().chain(numbers));
        }
        table.write(screen, 2)?;
        for refusal in &self.refused {
            let (place, detail) = (clean::one_line(&refusal.citation), clean::one_line(&refusal.detail));
            let code = screen.palette.paint(Role::Warning, refusal.code);
            writeln!(screen.out, "refused: {place}: {code}: {detail}")?;
        }
        Ok(())
    }
}
