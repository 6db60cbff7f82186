/// The result of one check.
package struct Finding: Sendable, Hashable {
    /// The assessment.
    enum Verdict: String, Sendable {
        /// No restriction.
        case good = "good"
        /// Films play with restrictions.
        case limited = "limited"
        /// A function of Talkie does not work.
        case missing = "missing"
    }

    /// The topic: "display", "sound card".
    var topic: String
    var verdict: Verdict
    /// The result in words.
    var text: String
    /// The remedy; nil if nothing is wrong.
    var remedy: String?

    init(_ topic: String, _ verdict: Verdict, _ text: String, remedy: String? = nil) {
        self.topic = topic
        self.verdict = verdict
        self.text = text
        self.remedy = remedy
    }

    /// Creates a finding from a sentence with a remedy: "no display can be reached; set DISPLAY".
    init(_ topic: String, _ verdict: Verdict, problem sentence: String) {
        let clauses = sentence.split(separator: ";", maxSplits: 1)
        let remedy = clauses.dropFirst().first.map { String($0.drop { $0 == " " }) }
        self.init(topic, verdict, clauses.first.map(String.init) ?? sentence, remedy: remedy)
    }
}
