// One node of gubernator by itself, on the address that its only argument says. Its own command wants a cluster to join, and listens for one on all addresses of the machine; this is what its tests
// start. Built in place of that command: see bench/shared/go-peers.mjs.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/mailgun/gubernator/v2"
)

func main() {
	address := os.Args[1]
	node := gubernator.PeerInfo{GRPCAddress: address, IsOwner: true}
	daemon, err := gubernator.SpawnDaemon(context.Background(), gubernator.DaemonConfig{
		GRPCListenAddress: address,
		HTTPListenAddress: "127.0.0.1:0",
		AdvertiseAddress:  address,
	})
	if err != nil {
		log.Fatal(err)
	}
	daemon.SetPeers([]gubernator.PeerInfo{node})
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	daemon.Close()
}
