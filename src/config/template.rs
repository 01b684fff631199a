//! The `ragdb.yaml` that `ragdb init` writes.

use super::{id_for, read};
use crate::error::{Error, Result};

pub(super) fn template(folder: &str) -> Result<String> {
    let path = read::relative_path(folder).map_err(|message| Error::Invalid { message })?;
    let name = path.rsplit('/').next().filter(|name| *name != ".").unwrap_or("docs");
    let id = id_for(name);
    // A JSON string is a YAML string, whatever it holds.
    let quoted = serde_json::Value::String(path).to_string();
    Ok(TEMPLATE.replace("{id}", &id).replace("{path}", &quoted))
}

/// A line `# name: value` is a setting with its default; every other comment begins with `##`.
const TEMPLATE: &str = "\
## What ragdb indexes. Nothing that is not declared here is read.
## A line with one `#` is a setting with its default: remove the `#` to change it.

sources:
    ## The name of the source, part of every document's identity: renaming it makes all its documents new.
    ## Lower-case letters, digits, `.`, `_` and `-`; at most 64.
  - id: {id}
    ## The folder, from where this file lies. Absolute paths and `..` are refused; symbolic links are not followed.
    path: {path}
    ## `markdown` reads .md, .markdown and .mdx; `text` reads .txt.
    # kind: markdown
    ## Which files to take, and which files and folders to leave out. `*` stays within a name, `**` crosses
    ## folders; a pattern without `/` holds at any depth; without `include`, every file of the kind is taken.
    # include: []
    # exclude: []
    ## Whether to read files and folders whose names begin with a dot.
    # hidden: false
    ## Front matter fields that every document must have.
    # required_metadata: []
    ## Text that tries to instruct the model that reads it keeps its document from being evidence. `reviewed`: somebody
    ## has looked at all documents of this source, and vouches for them; or name some by patterns.
    # trust: none
    # reviewed: []
    ## Who may read the documents: `public` (anyone), `internal` (the tenant) or `private` (by rule only).
    # visibility: internal
    ## The groups that may read them; without any, everyone inside the visibility. A document's front matter can narrow
    ## all of this, and nothing else can (see docs/access.md).
    # groups: []
    ## The tenant that they belong to, and a label that a query can be limited to. By default there is none.
    # tenant: null
    # scope: null

## How documents are cut, in characters. Another setting makes the next sync rebuild the index.
# chunking:
  ## A longer section is cut into pieces of about `target_chars`; no chunk is longer than `max_chars`, unless one
  ## line alone is; up to `overlap_chars` of whole lines are repeated in the next piece of the same section.
  # target_chars: 800
  # max_chars: 1200
  # overlap_chars: 120

## How hits are scored: the constants of BM25. Another setting makes the next sync rebuild the index.
# bm25:
  # k1: 1.2
  # b: 0.75

## How far such text reaches: it keeps back its `document`, or its `chunk`. Another setting makes the next sync rebuild
## the index.
# gate:
  # scope: document

# sync:
  ## How many documents one sync may delete. Without it, a sync refuses to delete half of a source of ten
  ## documents or more. Folders that are empty all at once, and large sources that are declared no longer, are
  ## refused either way (see `sync --max-delete`). This limit is not stored: a sync without this file has none.
  # max_delete: null
  ## Whether to leave out what the .gitignore files in a source's folder and below it leave out.
  # respect_gitignore: false
  ## A larger file is refused (64 MiB).
  # max_file_bytes: 67108864

# access:
  ## The groups that there are, for sources and front matter to name: `[]` for none. Without a list, each name is a group.
  # groups: null
  ## Scores are taken over what a reader may read, so that what is hidden changes none. There is no other setting.
  # statistics: scoped

## Which model `ragdb answer` asks; without one it answers with sentences of the sources. The question, the evidence and
## the key go to this address.
# answer:
  ## The base URL of an OpenAI-compatible API, such as http://localhost:11434/v1, and the model's name there.
  # base_url: null
  # model: null
  ## The environment variable that holds the key; its name ends in API_KEY. Empty for no key.
  # api_key_env: OPENAI_API_KEY
  ## How long one request may take, and how often a rejected answer goes back.
  # timeout_seconds: 60
  # retries: 2

## Which model makes vectors for `ragdb embed` and for questions: `local` (a folder with a BERT model, below this file),
## `endpoint` (an OpenAI-compatible API: every chunk's text and every question goes to its address), or `hashing` (a test
## double that knows words, not their meaning). Without a model there are no vectors.
# embedding:
  # kind: null
  ## Of a local model.
  # path: null
  ## Of an endpoint, as under `answer`; `dimensions` is how many numbers its vectors have.
  # base_url: null
  # model: null
  # api_key_env: OPENAI_API_KEY
  # dimensions: null
  ## Whether a request names them, too: some models cut their vectors to them, and others refuse that.
  # send_dimensions: false
  # timeout_seconds: 60
  ## Which of the model, such as a date: another one makes all vectors anew. Without it, the address tells.
  # revision: null
  ## How many texts one request has, and to how many characters each is cut.
  # batch: 32
  # longest_text: 6000
  ## The least cosine of a hit: an endpoint needs it, since nothing is known of its model (see docs/embeddings.md).
  ## What the model wants before a question and before a text.
  # floor: null
  # query_prefix: ''
  # chunk_prefix: ''

## What ranks chunks where a verb is not told: `bm25` (words), `dense` (vectors) or `rrf` (both, by their ranks).
# retrieval:
  # kind: bm25
  ## A chunk scores the sum of weight / (k + rank) over the lists that have it; so many of each list count.
  # fusion:
    # k: 60
    # bm25: 1.0
    # dense: 1.0
    # depth: 100
";
