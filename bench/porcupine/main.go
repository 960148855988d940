// Times Porcupine on one history of a compare-and-set register.
//
//	porcupine-register FILE ROUNDS SECONDS
//
// Each line of FILE is an operation: process, call, return, kind (0 read, 1 write, 2 compare and
// set), its two arguments, and its answer (a read's value, whether a compare-and-set was done, or
// -2 for one that nobody knows); -1 is null. Prints the verdict and the least time of so many rounds.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

const unknown = -2

type asked struct{ kind, a, b int }

var register = porcupine.Model{
	Init: func() interface{} { return -1 },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		now, what, answer := state.(int), input.(asked), output.(int)
		switch what.kind {
		case 0:
			return answer == unknown || answer == now, now
		case 1:
			return true, what.a
		}
		if now == what.a {
			return answer != 0, what.b
		}
		return answer != 1, now
	},
}

func read(path string) []porcupine.Operation {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	var operations []porcupine.Operation
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var process, kind, a, b, answer int
		var call, ret int64
		if _, err := fmt.Sscan(lines.Text(), &process, &call, &ret, &kind, &a, &b, &answer); err != nil {
			panic(err)
		}
		operations = append(operations, porcupine.Operation{
			ClientId: process, Input: asked{kind, a, b}, Call: call, Output: answer, Return: ret,
		})
	}
	return operations
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	operations := read(os.Args[1])
	limit := time.Duration(number(os.Args[3])) * time.Second
	best, verdict := time.Duration(0), porcupine.Unknown
	for round := 0; round < number(os.Args[2]); round++ {
		begun := time.Now()
		verdict = porcupine.CheckOperationsTimeout(register, operations, limit)
		if took := time.Since(begun); round == 0 || took < best {
			best = took
		}
		if verdict == porcupine.Unknown {
			break
		}
	}
	fmt.Println(verdict, best.Seconds())
}
