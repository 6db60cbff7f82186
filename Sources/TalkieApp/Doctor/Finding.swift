/// One thing that was looked at on this machine.
package struct Finding: Sendable, Hashable {
    package enum Verdict: String, Sendable {
        /// As good as it can be.
        case good
        /// Films play, but not as well as they could.
        case limited
        /// Something that Talkie can do does not work here.
        case missing
    }

    /// What it is about: "display", "sound card".
    package var topic: String
    package var verdict: Verdict
    /// What was found.
    package var text: String
    /// What to do about it; nil when there is nothing to mend.
    package var remedy: String?

    package init(_ topic: String, _ verdict: Verdict, _ text: String, remedy: String? = nil) {
        self.topic = topic
        self.verdict = verdict
        self.text = text
        self.remedy = remedy
    }

    /// From a sentence that ends in what to do: "no display can be reached; set DISPLAY".
    init(_ topic: String, _ verdict: Verdict, problem sentence: String) {
        let parts = sentence.split(separator: ";", maxSplits: 1)
        let remedy = parts.dropFirst().first.map { String($0.drop { $0 == " " }) }
        self.init(topic, verdict, parts.first.map(String.init) ?? sentence, remedy: remedy)
    }
}
