// Prints the parts of the form in a file, as busboy reads them. Without a file, tests that busboy is there.
const busboy = require('busboy');
const { createHash } = require('crypto');
const { createReadStream } = require('fs');

const [path, type] = process.argv.slice(2);
if (path) {
  const parts = [];
  const parser = busboy({
    headers: { 'content-type': type }, defParamCharset: 'utf8', preservePath: true,
    limits: { fieldSize: Infinity, fieldNameSize: Infinity } });
  parser.on('field', (name, value) => parts.push([name, null, createHash('sha256').update(value).digest('hex')]));
  parser.on('file', (name, stream, info) => {
    const hash = createHash('sha256');
    const part = [name, info.filename ?? '', null];
    parts.push(part);
    stream.on('data', (data) => hash.update(data)).on('end', () => { part[2] = hash.digest('hex'); });
  });
  parser.on('close', () => console.log(JSON.stringify(parts)));
  parser.on('error', (error) => { console.error(String(error)); process.exit(1); });
  createReadStream(path).pipe(parser);
}
