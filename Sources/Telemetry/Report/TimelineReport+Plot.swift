package import MediaCore
internal import Storage

extension TimelineReport {
    /// Writes the report's picture as an SVG file.
    ///
    /// - Throws: status 1 when the file cannot be written; what was there before may be gone then.
    package func plot(to path: String) throws(TalkieError) {
        var plot = ReportPlot(self)
        try OutputFile.write(plot.svg(), to: path, what: "the plot")
    }
}
