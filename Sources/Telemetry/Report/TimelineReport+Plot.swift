package import MediaCore
internal import Storage

extension TimelineReport {
    /// Writes the plot as an SVG file.
    ///
    /// - Throws: Status 1 if the file cannot be written; an existing file may be lost.
    package func plot(to path: String) throws(TalkieError) {
        var plot = ReportPlot(self)
        try OutputFile.write(plot.svg(), to: path, what: "the plot")
    }
}
