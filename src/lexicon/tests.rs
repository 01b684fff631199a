use super::*;

fn terms(text: &str) -> Vec<String> {
    let mut counts = TermCounts::new();
    Lexer::new().chunk_terms("", &[], text, &mut counts);
    counts.iter().map(|(term, _)| term.to_owned()).collect()
}

#[test]
fn smoke() {
    for t in ["max_chars maxChars HTTP/2 v1.2.3 C++ C# .NET Alzheimer's well-known 检索命中 Straße ｶﾞ が ﬁ"]
    {
        println!("{:?}", terms(t));
        println!("{:?}", Lexer::new().query(t));
        println!("{:?}", Lexer::new().surface_terms(t));
    }
}
