//! Natural questions: does the selection within a budget contain a passage that answers?

use crate::known_item::{BUDGETS, Corpus, taken};
use std::collections::BTreeSet;

/// The questions with their judgements.
const QUESTIONS: &str = include_str!("questions.txt");

/// A question and the passages that answer it.
struct Question {
    text: &'static str,
    answers: Vec<Judgement>,
}

/// A document, and the offset of the phrase in the passage that answers. Without one, every passage answers.
struct Judgement {
    document: usize,
    offset: Option<usize>,
}

/// The number of answered questions, by budget.
pub(crate) struct NaturalResults {
    pub(crate) questions: usize,
    pub(crate) judgements: usize,
    pub(crate) rows: Vec<NaturalRow>,
    /// The questions that passages do not answer within the second budget.
    pub(crate) unanswered: Vec<&'static str>,
}

/// The results within one budget.
#[derive(Default)]
pub(crate) struct NaturalRow {
    pub(crate) budget: u64,
    pub(crate) v0: usize,
    pub(crate) whole: usize,
    pub(crate) passages: usize,
}

/// Asks all questions. Returns an error if a judgement does not fit the corpus.
pub(crate) fn measure(corpus: &Corpus) -> Result<NaturalResults, String> {
    let questions = parse(corpus)?;
    let mut results = NaturalResults {
        questions: questions.len(),
        judgements: questions.iter().map(|one| one.answers.len()).sum(),
        rows: Vec::new(),
        unanswered: Vec::new(),
    };
    for budget in BUDGETS {
        let mut row = NaturalRow {
            budget,
            ..NaturalRow::default()
        };
        for question in &questions {
            let documents: BTreeSet<usize> =
                question.answers.iter().map(|one| one.document).collect();
            let takes = |order: &[usize]| {
                documents
                    .iter()
                    .any(|document| taken(order, &corpus.tokens, budget, *document))
            };
            row.v0 += usize::from(takes(&corpus.v0.order(question.text)));
            row.whole += usize::from(takes(&corpus.whole.order(question.text)));
            let answered = is_answered(corpus, question, budget);
            row.passages += usize::from(answered);
            if !answered && budget == BUDGETS[1] {
                results.unanswered.push(question.text);
            }
        }
        results.rows.push(row);
    }
    Ok(results)
}

fn is_answered(corpus: &Corpus, question: &Question, budget: u64) -> bool {
    let outcome = corpus.passages.search(question.text, budget);
    outcome.hits.iter().any(|hit| {
        let (document, passage) = corpus.passages.locate(hit.passage);
        let range = &corpus.ranges[document][passage];
        question.answers.iter().any(|answer| {
            let contains = answer.offset.is_none_or(|offset| range.contains(&offset));
            answer.document == document && contains
        })
    })
}

fn parse(corpus: &Corpus) -> Result<Vec<Question>, String> {
    let mut questions: Vec<Question> = Vec::new();
    for line in QUESTIONS.lines() {
        if let Some(text) = line.strip_prefix("? ") {
            let answers = Vec::new();
            questions.push(Question { text, answers });
        } else if let Some(judgement) = line.strip_prefix("= ") {
            let question = questions
                .last_mut()
                .ok_or("a judgement before a question")?;
            question.answers.push(parse_judgement(corpus, judgement)?);
        }
    }
    match questions.iter().find(|one| one.answers.is_empty()) {
        Some(unjudged) => Err(format!("no judgement for: {}", unjudged.text)),
        None => Ok(questions),
    }
}

fn parse_judgement(corpus: &Corpus, line: &str) -> Result<Judgement, String> {
    let (id, phrase) = match line.split_once('\t') {
        Some((id, phrase)) => (id, Some(phrase)),
        None => (line, None),
    };
    let find = |id: &str| corpus.ids.binary_search_by(|one| one.as_str().cmp(id)).ok();
    let document = find(id).ok_or_else(|| format!("the corpus has no document {id}"))?;
    let offset = match phrase {
        Some(phrase) => {
            let found = corpus.contents[document].find(phrase);
            Some(found.ok_or_else(|| format!("{id} does not contain: {phrase}"))?)
        }
        None => None,
    };
    Ok(Judgement { document, offset })
}
