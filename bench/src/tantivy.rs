//! tantivy: one thread, one segment, its fastest settings for what is asked of it here.

mod words;

use std::path::{Path, PathBuf};

use ::tantivy::collector::TopDocs;
use ::tantivy::indexer::NoMergePolicy;
use ::tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use ::tantivy::schema::{Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value};
use ::tantivy::tokenizer::{Language, LowerCaser, RemoveLongFilter, Stemmer, StopWordFilter, TextAnalyzer};
use ::tantivy::{Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyDocument, Term};
use words::Words;

use crate::chunk::FileChunks;
use crate::peer::Peer;
use crate::{Result, TANTIVY as NAME};

/// How a field's text becomes terms.
const TERMS: &str = "terms";
/// The longest word that is indexed, in bytes, as in tantivy's own analysers.
const LONGEST_WORD: usize = 40;
const MEMORY: usize = 200_000_000;

/// An index with one field for heading path and text: words in lower case and stemmed as English, pairs of
/// characters of scripts without blanks, frequencies but no positions, text stored as tantivy does by default (LZ4). Queries leave stop
/// words out, as ragdb's do.
pub struct Tantivy {
    folder: PathBuf,
    fields: Fields,
    /// As soon as it is needed.
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Fields {
    path: Field,
    body: Field,
}

/// An index that is on the disk.
struct Open {
    index: Index,
    reader: IndexReader,
    asked: TextAnalyzer,
    /// Made for the first change.
    writer: Option<IndexWriter>,
}

impl Tantivy {
    /// One in `folder`, which is opened where it has been built already.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.join(NAME), fields: schema().1, open: None }
    }

    fn opened(&mut self) -> Result<&mut Open> {
        let open = match self.open.take() {
            Some(open) => open,
            None => Open::new(Index::open_in_dir(&self.folder)?)?,
        };
        Ok(self.open.insert(open))
    }
}

impl Open {
    fn new(mut index: Index) -> Result<Self> {
        index.set_tokenizers(tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, asked: analyser(true), writer: None })
    }
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer(TERMS).set_index_option(IndexRecordOption::WithFreqs);
    let body = TextOptions::default().set_indexing_options(indexing).set_stored();
    let fields =
        Fields { path: schema.add_text_field("path", STRING | STORED), body: schema.add_text_field("body", body) };
    (schema.build(), fields)
}

fn analyser(without_stop_words: bool) -> TextAnalyzer {
    let words = TextAnalyzer::builder(Words::default()).filter(RemoveLongFilter::limit(LONGEST_WORD));
    let stemmer = Stemmer::new(Language::English);
    if without_stop_words {
        let stop_words = include_str!("stop-words.txt").split_whitespace().map(str::to_owned);
        words.filter(LowerCaser).filter(StopWordFilter::remove(stop_words)).filter(stemmer).build()
    } else {
        words.filter(LowerCaser).filter(stemmer).build()
    }
}

fn tokenizers() -> ::tantivy::tokenizer::TokenizerManager {
    let tokenizers = ::tantivy::tokenizer::TokenizerManager::default();
    tokenizers.register(TERMS, analyser(false));
    tokenizers
}

/// The documents of a file's chunks. The heading is a value of its own, so that it is stored as it is.
fn documents(file: &FileChunks, fields: Fields) -> impl Iterator<Item = TantivyDocument> + '_ {
    file.chunks.iter().map(move |chunk| {
        let mut document = TantivyDocument::default();
        document.add_text(fields.path, &file.path);
        document.add_text(fields.body, &chunk.heading);
        document.add_text(fields.body, &chunk.text);
        document
    })
}

fn new_writer(index: &Index) -> Result<IndexWriter> {
    let writer = index.writer_with_num_threads(1, MEMORY)?;
    // A merge on a thread of its own would slow down whatever is measured next.
    writer.set_merge_policy(Box::new(NoMergePolicy));
    Ok(writer)
}

impl Peer for Tantivy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn build(&mut self, files: &[FileChunks]) -> Result<()> {
        self.open = None;
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)?;
        }
        std::fs::create_dir_all(&self.folder)?;
        let settings = IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let builder = Index::builder().schema(schema().0).settings(settings).tokenizers(tokenizers());
        let folder = ::tantivy::directory::MmapDirectory::open(&self.folder)?;
        let mut writer = builder.single_segment_index_writer(folder, MEMORY)?;
        for document in files.iter().flat_map(|file| documents(file, self.fields)) {
            writer.add_document(document)?;
        }
        self.open = Some(Open::new(writer.finalize()?)?);
        Ok(())
    }

    fn replace(&mut self, files: &[FileChunks]) -> Result<()> {
        let fields = self.fields;
        let open = self.opened()?;
        let mut writer = open.writer.take().map_or_else(|| new_writer(&open.index), Ok)?;
        for file in files {
            writer.delete_term(Term::from_field_text(fields.path, &file.path));
            for document in documents(file, fields) {
                writer.add_document(document)?;
            }
        }
        writer.commit()?;
        open.writer = Some(writer);
        open.reader.reload()?;
        Ok(())
    }

    fn search(&mut self, query: &str, k: usize) -> Result<usize> {
        let body = self.fields.body;
        let open = self.opened()?;
        let mut terms: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut tokens = open.asked.token_stream(query);
        while tokens.advance() {
            let term = Term::from_field_text(body, &tokens.token().text);
            terms.push((Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))));
        }
        let searcher = open.reader.searcher();
        let best = searcher.search(&BooleanQuery::new(terms), &TopDocs::with_limit(k).order_by_score())?;
        for (_, address) in &best {
            let document: TantivyDocument = searcher.doc(*address)?;
            let texts = document.get_all(body).filter_map(|value| value.as_str());
            std::hint::black_box(texts.map(str::len).sum::<usize>());
        }
        Ok(best.len())
    }

    fn path(&self) -> PathBuf {
        self.folder.clone()
    }

    fn close(&mut self) -> Result<()> {
        self.open = None;
        Ok(())
    }

    fn bytes(&self) -> Result<u64> {
        let files = std::fs::read_dir(&self.folder)?;
        files.map(|file| Ok(file?.metadata()?.len())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Chunk;

    fn file(path: &str, texts: &[&str]) -> FileChunks {
        let chunk = |text: &&str| Chunk { heading: "Guide".into(), text: (*text).into() };
        FileChunks { path: path.into(), chunks: texts.iter().map(chunk).collect() }
    }

    #[test]
    fn it_finds_what_it_was_given_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut tantivy = Tantivy::at(folder.path());
        tantivy.build(&[file("old.md", &["ash"])]).unwrap();
        tantivy.build(&[file("a.md", &["ash elm", "oaks"]), file("b.md", &["Oak \"yew\""])]).unwrap();
        let hits = |tantivy: &mut Tantivy, query| tantivy.search(query, 10).unwrap();
        assert_eq!(hits(&mut tantivy, "oak, ash?"), 3);
        assert_eq!(hits(&mut tantivy, "where is the ash"), 1);
        assert_eq!(hits(&mut tantivy, "where is the"), 0);
        assert_eq!(tantivy.search("guide", 2).unwrap(), 2);
        assert_eq!(Tantivy::at(folder.path()).search("oak", 10).unwrap(), 2);

        tantivy.replace(&[file("a.md", &["fir"])]).unwrap();
        tantivy.replace(&[file("a.md", &["fir", "fir"]), file("c.md", &["fir"])]).unwrap();
        assert_eq!(hits(&mut tantivy, "ash elm"), 0);
        assert_eq!((hits(&mut tantivy, "fir"), hits(&mut tantivy, "yew")), (3, 1));
        assert!(tantivy.bytes().unwrap() > 0);
    }
}
