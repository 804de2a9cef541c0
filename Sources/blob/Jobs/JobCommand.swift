#if Command
import ArgumentParser

struct JobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job", abstract: "Divides and stores sources in tasks that an engine may repeat.",
        discussion: """
            Tasks of engines such as Spark and Dask can run these commands. 'splits' prints ranges for tasks that \
            read. 'put' stores whole sources; 'begin', 'parts' and 'finish' store long ones in parts, on any number of \
            machines.

            TARGET is s3://bucket/prefix/, or a URL that ends with '/' on a web server that accepts PUT. The key of an \
            object is the hexadecimal SHA-256 digest of the locator as written, so that a repeated task finds the \
            object, or stores the same one again.

            Sources are stored one after the other. A line for each source is printed before the next one begins: its \
            digest and its URL or, with --json, an object with locator, url, bytes, state (stored, exists, failed or \
            aborted), sha256 or etag, and error. In the locator of a server, '***' replaces secrets; the key in the \
            URL identifies the source. An existing object is kept if the server reports the right digest for it. If \
            the server does not replace objects (If-None-Match) and does not report a digest, the object is read back, \
            and kept if its bytes are the same. In an S3 store, it is kept if its tag is the MD5 digest of the source, \
            or the tag of its parts of --part-size. Any other object is replaced.

            The exit status is 0 if all sources are stored, and 1 if some are not: their lines contain the errors. Any \
            other status means that the command stopped early, and that sources without a line were not processed. If \
            standard output is closed, the command stops before the next source.
            """,
        subcommands: [
            JobSplitsCommand.self, JobPutCommand.self, JobBeginCommand.self, JobPartsCommand.self,
            JobFinishCommand.self, JobAbortCommand.self,
        ])
}

struct JobPutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Stores each source under a key derived from its locator.",
        discussion: """
            Prints a line for each source; 'blob job --help all' describes lines, keys and the exit status.

            EXAMPLES:
              blob job put s3://bucket/job/ a.bin b.bin
              blob job put https://example.com/job/ --json --from-file list.txt
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try self.job.run() }
}

struct JobBeginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "begin", abstract: "Begins to store sources in parts, and prints a line for each part.",
        discussion: """
            Prints one line of JSON per part for each source that is longer than a part and has a strong validator, \
            such as the ETag of a web server, and the locator of any other source.

            EXAMPLES:
              blob job begin s3://bucket/job/ https://example.com/large.bin > parts.jsonl
              blob job begin s3://bucket/job/ --part-size 64MiB --from-file large.txt
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try self.job.run(.begin) }
}

struct JobPartsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "parts", abstract: "Stores parts from the lines of 'begin', in any order, on any machine.",
        discussion: """
            A line that is a locator is stored as by 'put'.

            EXAMPLES:
              blob job parts s3://bucket/job/ --json --from-file parts.jsonl
              head -n 9 parts.jsonl | blob job parts s3://bucket/job/ --from-file -
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try self.job.run(.parts) }
}

struct JobFinishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "finish", abstract: "Completes objects from their stored parts.",
        discussion: """
            Takes one line of each divided source, and completes its object, or removes its parts if it cannot be \
            completed, for example because one is missing. The source is read only to compare it with an existing \
            object. After a temporary error the status is not 1, and the command should be repeated.

            EXAMPLES:
              grep '"part":1,' parts.jsonl | blob job finish s3://bucket/job/ --from-file -
              blob job finish s3://bucket/job/ --json --from-file firsts.jsonl
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try self.job.run(.finish) }
}

struct JobAbortCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "abort", abstract: "Removes the stored parts of objects that are not to be completed.",
        discussion: """
            Takes one line of each divided source.

            EXAMPLES:
              blob job abort s3://bucket/job/ --from-file firsts.jsonl
              grep '"part":1,' parts.jsonl | blob job abort s3://bucket/job/ --from-file -
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try self.job.run(.abort) }
}
#endif
