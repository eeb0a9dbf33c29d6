//! Run and qrels files as `trec_eval` reads them: lines of fields between blanks.

use super::texts::TextList;
use crate::error::{Error, Result};

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrecFormat {
    /// `query Q0 item rank score tag`, of which the score is read.
    Scores,
    /// The same, of which the rank is read.
    Ranks,
    /// `query iteration item relevance`.
    Qrels,
}

impl TrecFormat {
    /// Number of fields, which of them is the number, and what it is.
    fn fields(self) -> (&'static str, usize, usize, &'static str) {
        match self {
            Self::Scores => ("query Q0 item rank score tag", 6, 4, "score"),
            Self::Ranks => ("query Q0 item rank score tag", 6, 3, "rank"),
            Self::Qrels => ("query iteration item relevance", 4, 3, "relevance"),
        }
    }
}

/// The lines of a file.
#[derive(Debug, Default, PartialEq)]
pub struct TrecFile {
    /// Query of each line.
    pub queries: TextList,
    /// Item of each line.
    pub items: TextList,
    /// Score, rank or relevance of each line.
    pub values: Vec<f64>,
}

impl TrecFile {
    /// Reads the text of a file; lines without any field are skipped.
    ///
    /// # Errors
    /// [`Error::Line`] for the first line that is not UTF-8, has another number of fields, or whose
    /// number is none.
    pub fn parse(text: &[u8], format: TrecFormat) -> Result<Self> {
        let (layout, n_fields, place, what) = format.fields();
        let mut file = Self::default();
        for (line, bytes) in text.split(|&byte| byte == b'\n').enumerate() {
            let refuse = |reason| Error::Line { line: line + 1, reason };
            let content = std::str::from_utf8(bytes).map_err(|_| refuse("is not UTF-8 text".into()))?;
            let mut fields = [""; 6];
            let mut found = 0;
            for field in content.split_ascii_whitespace() {
                if let Some(free) = fields.get_mut(found) {
                    *free = field;
                }
                found += 1;
            }
            if found == 0 {
                continue;
            }
            if found != n_fields {
                return Err(refuse(format!("has {found} fields, not the {n_fields} of `{layout}`")));
            }
            let value = fields[place].parse::<f64>().ok().filter(|value| !value.is_nan());
            let Some(value) = value else {
                return Err(refuse(format!("has the {what} {:?}, which is no number", fields[place])));
            };
            file.queries.push(fields[0].as_bytes());
            file.items.push(fields[2].as_bytes());
            file.values.push(value);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_between_any_blanks() {
        let text = "q2 Q0 d\u{e9}1\t1  0.5 tag\r\n\n  q1 Q0 d2 7 -1e-3 tag\nq2 Q0 d2 3 inf tag";
        let file = TrecFile::parse(text.as_bytes(), TrecFormat::Scores).unwrap();
        let texts = |texts: [&str; 3]| texts.iter().map(|text| text.as_bytes()).collect::<TextList>();
        assert_eq!((&file.queries, &file.items), (&texts(["q2", "q1", "q2"]), &texts(["d\u{e9}1", "d2", "d2"])));
        assert_eq!(file.values, [0.5, -0.001, f64::INFINITY]);
        let ranks = TrecFile::parse(text.as_bytes(), TrecFormat::Ranks).unwrap();
        assert_eq!(ranks.values, [1.0, 7.0, 3.0]);
        let qrels = TrecFile::parse(b"q1 0 d1 2\nq1 0 d2 -1\n", TrecFormat::Qrels).unwrap();
        assert_eq!(qrels.values, [2.0, -1.0]);
        assert_eq!(TrecFile::parse(b"", TrecFormat::Qrels).unwrap(), TrecFile::default());
    }

    #[test]
    fn a_malformed_line_is_named() {
        for (text, line, part) in [
            (&b"q 0 d 1\nq 0 d\n"[..], 2, "has 3 fields"),
            (b"q 0 d 1\n\nq 0 d 1 x y z\n", 3, "has 7 fields"),
            (b"q 0 d one\n", 1, "\"one\", which is no number"),
            (b"q 0 d nan\n", 1, "no number"),
            (b"q 0 \xff 1\n", 1, "UTF-8"),
        ] {
            let error = TrecFile::parse(text, TrecFormat::Qrels).unwrap_err();
            assert!(
                matches!(&error, Error::Line { line: found, reason } if *found == line && reason.contains(part)),
                "{error}"
            );
        }
    }
}
