// Prints the CRC-32, the length and the name of each entry of a zip.
package main

import (
	"archive/zip"
	"bufio"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

func main() {
	reader, err := zip.OpenReader(os.Args[1])
	if err != nil {
		panic(err)
	}
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for _, entry := range reader.File {
		file, err := entry.Open()
		if err != nil {
			panic(err)
		}
		sum := crc32.NewIEEE()
		length, err := io.Copy(sum, file)
		if err != nil {
			panic(err)
		}
		file.Close()
		fmt.Fprintf(output, "%08x %d %s\n", sum.Sum32(), length, entry.Name)
	}
}
