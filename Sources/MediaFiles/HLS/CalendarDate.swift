internal import MediaCore

/// Parses dates of playlists and cookies.
enum CalendarDate {
    /// Returns seconds since 1970 of an ISO 8601 date (`2024-05-06T07:08:09.123Z`, or with an offset such as `+02:00`);
    /// nil for an invalid date.
    static func seconds(_ text: String) -> Double? {
        let bytes = Array(text.utf8.prefix(48))
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count else { return nil }
            var value = 0
            for byte in bytes[range] {
                guard (48...57).contains(byte) else { return nil }
                value = value * 10 + Int(byte) - 48
            }
            return value
        }
        func has(_ letter: Character, at index: Int) -> Bool {
            index < bytes.count && bytes[index] == letter.asciiValue
        }
        guard let year = number(0..<4), has("-", at: 4), let month = number(5..<7), has("-", at: 7),
            let day = number(8..<10), has("T", at: 10), let hour = number(11..<13), has(":", at: 13),
            let minute = number(14..<16), has(":", at: 16), let second = number(17..<19), (1...12).contains(month),
            (1...31).contains(day), hour <= 24, minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (48...57).contains($0) }
            fraction = DecimalNumber.parse("0." + String(decoding: digits.prefix(9), as: UTF8.self)) ?? 0
            rest = rest[digits.endIndex...]
        }
        guard let offset = offset(rest) else { return nil }
        return Double(days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset) + fraction
    }

    /// Returns seconds since 1970 of the `Expires` value of a cookie, such as `Wed, 21-Oct-2015 07:28:00 GMT`; nil for
    /// an invalid date (RFC 6265, 5.1.1).
    static func cookieExpiry(_ text: String) -> Int64? {
        var (time, day, month, year) = ([Int]?.none, Int?.none, Int?.none, Int?.none)
        let fields = text.prefix(64).lowercased().split {
            !($0.isASCII && ($0.isLetter || $0.isNumber)) && $0 != ":"
        }
        for word in fields {
            let timeFields = word.split(separator: ":").map { Int($0.prefix { $0.isNumber }) }
            if time == nil, timeFields.count >= 3 {
                time = timeFields.compactMap { $0 }
            } else if day == nil, let number = timeFields.first ?? nil, number < 100 {
                day = number
            } else if month == nil, let index = months.firstIndex(of: word.prefix(3)) {
                month = index + 1
            } else if year == nil, let number = timeFields.first ?? nil {
                year = number < 70 ? 2000 + number : number < 100 ? 1900 + number : number
            }
        }
        guard let time, time.count >= 3, time[0] < 24, time[1] < 60, time[2] < 60, let day, (1...31).contains(day),
            let month, let year, (1601...9999).contains(year)
        else { return nil }
        return Int64(days(year, month, day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
    }

    private static let months: [Substring] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Returns the days since 1970 in the proleptic Gregorian calendar.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years start in March, so that a leap day is the last day of its year.
        let (years, months) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468
    }

    private static func offset(_ text: ArraySlice<UInt8>) -> Int? {
        guard let sign = text.first, sign != UInt8(ascii: "Z") else { return 0 }
        let digits = text.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), digits.count == 2 || digits.count == 4,
            let value = Int(String(decoding: digits, as: UTF8.self)), value >= 0
        else { return nil }
        let seconds = digits.count == 2 ? value * 3600 : value / 100 * 3600 + value % 100 * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }
}
