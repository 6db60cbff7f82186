package import MediaCore

extension Track {
    /// For people: `3 of 3, rus, commentary`.
    package func description(among count: Int) -> String {
        ["\(number) of \(count)", language, title].compactMap { $0 }.joined(separator: ", ")
    }
}
