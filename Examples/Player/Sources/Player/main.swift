// The player of docs/guides/tutorial.md: plays files one after the other, and accepts edits of the queue during
// playback.
runPlayer(Array(CommandLine.arguments.dropFirst()))
