// Prints the parts of the form in a file, as mime/multipart reads them.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"os"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	reader := multipart.NewReader(file, parameters["boundary"])
	parts := [][3]any{}
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, part); err != nil {
			log.Fatal(err)
		}
		// A file without a name is a field to FileName, so the parameter decides.
		_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		var name any
		if _, found := disposition["filename"]; found {
			name = part.FileName()
		}
		parts = append(parts, [3]any{part.FormName(), name, hex.EncodeToString(hash.Sum(nil))})
	}
	if err := json.NewEncoder(os.Stdout).Encode(parts); err != nil {
		log.Fatal(err)
	}
}
