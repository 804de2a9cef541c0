#if Command
/// The help about locators.
enum LocatorHelp {
    /// The argument of `blob help` that prints this help.
    static let topic = "locators"

    static let text = """
        A LOCATOR names a source of bytes:

          photo.jpg                 a file; a file of exactly this name takes precedence
          -                         standard input
          backup.tgz#etc/hosts      a member of an archive of any format
          backup.tgz#@0             the first member
          outer.tar.gz#in.zip!/a    a member of an archive in an archive
          'site.tgz#site/*.json'    all matching members: *, ?, [a-z], [^a-z], ** (across '/')
          gzip+log.gz               the decoded bytes; see 'blob schemes'
          gzip+both.tgz#two.gz      the decoded member
          https://example.com/x.gz  a URL; also file, s3, data and assets-library

        With -z (--decode), 'cat', 'sum', 'info', 'upload' and 'form' decode every
        filter that is detected in the content.

        In the name of a member, control characters, '%', bytes that are not UTF-8,
        '!', '#' and a leading '@' are written as %XX, and so is a '*' that is not a
        wildcard. 'blob ls' prints names in this form.
        """
}
#endif
