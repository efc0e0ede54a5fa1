! SPDX-License-Identifier: Apache-2.0
! libhybridmem for Fortran. Compilers cannot read each other's compiled modules: compile this file with the compiler of
! your program. Manual: hybridmem(3).
module hybridmem
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: hm_alloc, hm_free, hm_where, hm_where_run, hm_reason, hm_alloc_hint, hm_alloc_node, hm_alloc_where, hm_alloc_run
    public :: HM_ALLOC_SPILL, HM_ALLOC_SPLIT, HM_ALLOC_FAST, HM_ALLOC_SLOW, HM_ALLOC_INTERLEAVE
    public :: HM_ALLOC_READ_MOSTLY, HM_ALLOC_WRITE_INTENSIVE

    enum, bind(c)
        enumerator :: HM_ALLOC_SPILL = 1, HM_ALLOC_SPLIT = 2, HM_ALLOC_FAST = 3, HM_ALLOC_SLOW = 4, HM_ALLOC_INTERLEAVE = 5
    end enum
    enum, bind(c)
        enumerator :: HM_ALLOC_READ_MOSTLY = 0, HM_ALLOC_WRITE_INTENSIVE = 1
    end enum

    integer, parameter, public :: HM_ALLOC_NODES = 128
    integer, parameter, public :: HM_ALLOC_REASON_LENGTH = 256

    type, bind(c) :: hm_alloc_hint
        integer(c_int32_t) :: use = HM_ALLOC_READ_MOSTLY
        integer(c_int32_t) :: reserved = 0
        integer(c_size_t) :: block_bytes = 0
        real(c_double) :: fast_share = 0
    end type hm_alloc_hint

    type, bind(c) :: hm_alloc_node
        integer(c_int32_t) :: node
        integer(c_int32_t) :: reserved
        integer(c_int64_t) :: wanted_bytes
        integer(c_int64_t) :: resident_bytes
    end type hm_alloc_node

    type, bind(c) :: hm_alloc_where
        integer(c_size_t) :: bytes
        integer(c_size_t) :: block_bytes
        integer(c_int32_t) :: policy
        integer(c_int32_t) :: n_nodes
        integer(c_int64_t) :: absent_bytes
        character(kind=c_char) :: reason(HM_ALLOC_REASON_LENGTH)
        type(hm_alloc_node) :: node(HM_ALLOC_NODES + 1)
    end type hm_alloc_where

    type, bind(c) :: hm_alloc_run
        integer(c_int64_t) :: offset
        integer(c_int64_t) :: bytes
        integer(c_int32_t) :: node
        integer(c_int32_t) :: folder
    end type hm_alloc_run

    interface
        ! Returns an address for c_f_pointer, or c_null_ptr where it fails; hm_reason then says why.
        function hm_alloc(size, policy, hint) bind(c, name="hm_alloc") result(memory)
            import :: c_ptr, c_size_t, c_int, hm_alloc_hint
            integer(c_size_t), value :: size
            integer(c_int), value :: policy
            type(hm_alloc_hint), intent(in), optional :: hint
            type(c_ptr) :: memory
        end function hm_alloc

        subroutine hm_free(memory) bind(c, name="hm_free")
            import :: c_ptr
            type(c_ptr), value :: memory
        end subroutine hm_free

        function hm_where(memory, where) bind(c, name="hm_where") result(status)
            import :: c_ptr, c_int, hm_alloc_where
            type(c_ptr), value :: memory
            type(hm_alloc_where), intent(out) :: where
            integer(c_int) :: status
        end function hm_where

        function hm_where_run(memory, offset, run) bind(c, name="hm_where_run") result(status)
            import :: c_ptr, c_size_t, c_int, hm_alloc_run
            type(c_ptr), value :: memory
            integer(c_size_t), value :: offset
            type(hm_alloc_run), intent(out) :: run
            integer(c_int) :: status
        end function hm_where_run

        function alloc_reason() bind(c, name="hm_alloc_reason") result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function alloc_reason

        pure function length_of(text) bind(c, name="strlen") result(length)
            import :: c_ptr, c_size_t
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function length_of
    end interface

contains

    ! Why the last hm_alloc failed, or placed memory otherwise than the policy says; empty where it did neither.
    function hm_reason() result(text)
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letter(:)
        type(c_ptr) :: address
        integer :: i
        address = alloc_reason()
        call c_f_pointer(address, letter, [length_of(address)])
        allocate (character(len=size(letter)) :: text)
        do i = 1, size(letter)
            text(i:i) = letter(i)
        end do
    end function hm_reason

end module hybridmem
