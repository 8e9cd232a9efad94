// An S3 server in memory, for tests. It prints its address, and serves one bucket with the name `test`.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	backend := s3mem.New()
	if err := backend.CreateBucket("test"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
}
